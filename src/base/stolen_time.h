// What other guests of the same host take from this machine.
#pragma once

#include <chrono>
#include <optional>

namespace inferno {

// How long this machine's processors were ready and did not run, since their host ran others on them; of all
// processors together, since boot, in steps of some milliseconds ("steal" of proc(5)). nullopt where the
// system does not tell; 0 where there is no host.
std::optional<std::chrono::nanoseconds> stolen_time();

}  // namespace inferno
