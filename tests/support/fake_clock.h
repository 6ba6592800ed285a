// A clock that stands still until the test moves it.
#pragma once

#include <atomic>
#include <chrono>

#include "base/clock.h"

namespace inferno::test {

class FakeClock : public Clock {
 public:
  using Duration = std::chrono::steady_clock::duration;

  std::chrono::steady_clock::time_point now() const override {
    return std::chrono::steady_clock::time_point(Duration(ticks_.load()));
  }
  void advance(Duration duration) { ticks_ += duration.count(); }

 private:
  std::atomic<Duration::rep> ticks_ = 0;
};

// Each look at it is a millisecond later than the one before, so a duration counts the looks.
class TickingClock final : public Clock {
 public:
  std::chrono::steady_clock::time_point now() const override {
    clock_.advance(std::chrono::milliseconds(1));
    return clock_.now();
  }

 private:
  mutable FakeClock clock_;
};

}  // namespace inferno::test
