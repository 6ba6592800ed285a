// Timing a loop on a machine that others use, too: they only ever slow it down, so the shortest of many
// windows is the one to believe.
#pragma once

#include <functional>
#include <span>

#include "base/result.h"

namespace inferno::backend {

// Runs fn(0) … fn(cpus.size() - 1) at once, each on a thread of its own that stays on cpus[i] if the system
// lets it, and waits for all. fn does not throw. Errors: kResource when a thread cannot be started; then none
// has run.
Status run_together(std::span<const unsigned> cpus, const std::function<void(size_t)>& fn);

// Seconds from the first start to the last end. The median tells how busy the machine was.
struct Windows {
  double shortest = 0, median = 0;
};

struct WindowCount {
  size_t least = 30, most = 200;  // a core takes some milliseconds to its full clock
  double most_seconds = 60;       // of all together, but three windows at least
};

// Runs work(i, window) on all of them at once, window 0, 1, …. There are more windows until three have come
// within 1 % of the shortest, as many as `count` allows.
using Work = std::function<void(size_t thread, int window)>;
Result<Windows> time_windows(std::span<const unsigned> cpus, const Work& work, WindowCount count = {});

}  // namespace inferno::backend
