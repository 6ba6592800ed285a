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

}  // namespace inferno::test
