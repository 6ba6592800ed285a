// Checks of option values whose complaints are sentences: "expected one of none, summary, full, found "ful"".
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace inferno::apps {

CLI::Validator whole_number(uint64_t max = std::numeric_limits<int32_t>::max());
CLI::Validator whole_number_from(uint64_t min, uint64_t max);
CLI::Validator not_empty();
// Anything that reads as a number; its range is checked by whoever knows what it means.
CLI::Validator number();
// Names the choice that was probably meant.
CLI::Validator one_of(std::vector<std::string> choices);
// What one_of() allows an option whose check it is; {} of any other.
std::vector<std::string> choices_of(CLI::Option& option);

// --prompt-ids 1,2,3
CLI::Option* add_prompt_ids(CLI::App& app, std::vector<int32_t>& ids, const std::string& description);

}  // namespace inferno::apps
