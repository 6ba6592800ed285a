// LineTrip: how long a cache line takes from one processor to another and back, which tells where a virtual
// machine's host has placed its processors: on a Zen 4 some 30 ns between two threads of a core, 60 where two
// cores share a cache, 320 where they do not. Hosts move them, every few seconds at times, and with them the
// bandwidth that both get together (35, 35 and 58 GB/s there), which neither steal nor a clock shows.
#pragma once

#include <chrono>
#include <optional>

namespace inferno::backend {

// Between the first of the processors that `threads` threads run on and each of the others, up to eight of
// them: the longest. Takes some milliseconds. nullopt for one thread, and where no thread can be started.
std::optional<std::chrono::nanoseconds> line_trip(unsigned threads);

}  // namespace inferno::backend
