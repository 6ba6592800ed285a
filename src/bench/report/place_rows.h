// The rows of tables that tell trials by where the machine's host had its processors (places.h).
#pragma once

#include <string>
#include <vector>

#include "bench/result.h"

namespace inferno::bench {

// Titles of a row's cells; the first one is the configuration.
std::vector<std::string> place_header();
// A row for each place of each configuration that has several.
std::vector<std::vector<std::string>> place_rows(const Report& report);

// What the table says, for a person.
std::string place_caption();

}  // namespace inferno::bench
