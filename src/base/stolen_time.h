// What other guests of the same host take from this machine.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace inferno {

// How long this machine's processors were ready and did not run, since their host ran others on them; of all
// processors together, since boot, in steps of some milliseconds ("steal" of proc(5)). nullopt where the
// system does not tell; 0 where there is no host.
std::optional<std::chrono::nanoseconds> stolen_time();

// Of the first line of /proc/stat, in clock ticks of which there are so many a second.
std::optional<std::chrono::nanoseconds> stolen_time_in(std::string_view stat, long ticks_per_second);

}  // namespace inferno
