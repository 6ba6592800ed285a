#include "backend/cpu/fetch_trial.h"

#include <gtest/gtest.h>

#include <array>

namespace inferno::backend {
namespace {

using std::chrono::nanoseconds;

// Loops of 1000 bytes, each as long as `time` says of the way that it went.
template <class Time>
void run(FetchTrial& trial, int n_loops, const Time& time) {
  for (int i = 0; i < n_loops; ++i) trial.took(time(i, trial.fetches()), 1000);
}

TEST(FetchTrial, KeepsWhatIsFaster) {
  FetchTrial gains;
  run(gains, FetchTrial::kLoopsOfTrial, [](int, bool fetches) { return nanoseconds(fetches ? 60 : 100); });
  EXPECT_TRUE(gains.fetches());
  FetchTrial loses;
  run(loses, FetchTrial::kLoopsOfTrial, [](int, bool fetches) { return nanoseconds(fetches ? 100 : 60); });
  EXPECT_FALSE(loses.fetches());
}

// A layer's loops differ in what a byte costs, and the system takes a processor away now and then.
TEST(FetchTrial, IsNotMisledByOtherWorkOrInterruptions) {
  FetchTrial trial;
  run(trial, FetchTrial::kLoopsOfTrial, [](int loop, bool fetches) {
    constexpr std::array kCosts = {100, 400, 90, 120};
    const bool is_interrupted = fetches && loop % 5 == 0;
    return nanoseconds(kCosts[static_cast<size_t>(loop) % kCosts.size()] * (fetches ? 9 : 10) +
                       (is_interrupted ? 1000000 : 0));
  });
  EXPECT_TRUE(trial.fetches());
}

TEST(FetchTrial, GivesEachOfFourLoopsThatFollowEachOtherAsManyTurnsEitherWay) {
  FetchTrial trial;
  std::array<std::array<int, 2>, 4> turns = {};
  run(trial, FetchTrial::kLoopsOfTrial, [&](int loop, bool fetches) {
    ++turns[static_cast<size_t>(loop % 4)][fetches ? 1 : 0];
    return nanoseconds(100);
  });
  for (const auto& [without, with] : turns) EXPECT_EQ(without, with);
}

TEST(FetchTrial, TriesAgainAfterAWhile) {
  FetchTrial trial;
  run(trial, FetchTrial::kLoopsOfTrial, [](int, bool fetches) { return nanoseconds(fetches ? 60 : 100); });
  run(trial, FetchTrial::kLoopsBetween, [](int, bool fetches) {
    EXPECT_TRUE(fetches);
    return nanoseconds(60);
  });
  run(trial, FetchTrial::kLoopsOfTrial, [](int, bool fetches) { return nanoseconds(fetches ? 100 : 60); });
  EXPECT_FALSE(trial.fetches());
}

}  // namespace
}  // namespace inferno::backend
