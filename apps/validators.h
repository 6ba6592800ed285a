// Checks of option values whose complaints are sentences: "expected one of none, summary, full, found "ful"".
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "apps/command_line.h"

namespace inferno::apps {

Check whole_number(uint64_t max = std::numeric_limits<int32_t>::max());
Check whole_number_from(uint64_t min, uint64_t max);
Check not_empty();
// Anything that reads as a number; its range is checked by whoever knows what it means.
Check number();
// Above 0; neither NaN nor without end.
Check seconds();
// Names the choice that was probably meant.
Check one_of(std::vector<std::string> choices);

// Any text, for whoever reads it to judge; these are what completion offers.
Check offered(std::vector<std::string> choices);

// --prompt-ids 1,2,3
Option add_prompt_ids(Command command, std::vector<int32_t>& ids, const std::string& description);

}  // namespace inferno::apps
