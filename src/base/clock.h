// Clock: where durations come from, so that a test can say what time it is.
#pragma once

#include <chrono>

namespace inferno {

// Threads may share one. Its time never goes back.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual std::chrono::steady_clock::time_point now() const = 0;
};

// std::chrono::steady_clock; lives as long as the process.
inline const Clock& steady_clock() {
  class Steady final : public Clock {
   public:
    std::chrono::steady_clock::time_point now() const override { return std::chrono::steady_clock::now(); }
  };
  static const Steady clock;
  return clock;
}

}  // namespace inferno
