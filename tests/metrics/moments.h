// Moments of a test's own clock: at(ms), milliseconds from its start.
#pragma once

#include <chrono>

#include "metrics/timeline.h"

namespace inferno::metrics {

inline TimePoint at(int ms) {
  return TimePoint(std::chrono::milliseconds(ms));
}

}  // namespace inferno::metrics
