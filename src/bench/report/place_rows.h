// The rows of tables that tell trials by where the machine's host had its processors (places.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/figures.h"
#include "bench/result.h"

namespace inferno::bench {

// Titles of a row's cells; the first one is the configuration.
std::vector<std::string> place_header();
// A row for each place of each configuration that has several.
std::vector<std::vector<std::string>> place_rows(const Report& report);

// What the table says, for a person.
std::string place_caption();

// "84.0 (88.1) memory"; an asterisk where the other ceiling was not measured; "—" without.
std::string ceiling_cell(const std::optional<OfCeiling>& of);
// " (88.1)" or nothing.
std::string in_brackets(const std::optional<double>& pct);

}  // namespace inferno::bench
