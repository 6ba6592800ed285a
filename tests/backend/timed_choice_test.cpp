#include "backend/cpu/timed_choice.h"

#include <gtest/gtest.h>

#include <array>

namespace inferno::backend {
namespace {

using std::chrono::nanoseconds;

constexpr TimedChoice::Plan kPlan = {"tested", 32, 500};

// Turns of as much work, each as long as `time` says of the way that it went.
template <class Time>
void run(TimedChoice& choice, int n_turns, const Time& time) {
  for (int i = 0; i < n_turns; ++i) choice.took(time(i, choice.takes_second()), 1000);
}

TEST(TimedChoice, KeepsWhatIsFaster) {
  TimedChoice gains(kPlan);
  run(gains, kPlan.tries, [](int, bool second) { return nanoseconds(second ? 60 : 100); });
  EXPECT_TRUE(gains.takes_second());
  TimedChoice loses(kPlan);
  run(loses, kPlan.tries, [](int, bool second) { return nanoseconds(second ? 100 : 60); });
  EXPECT_FALSE(loses.takes_second());
}

// The loops of a layer differ in what a byte costs, and the system takes a processor away now and then.
TEST(TimedChoice, IsNotMisledByOtherWorkOrInterruptions) {
  TimedChoice trial(kPlan);
  run(trial, kPlan.tries, [](int turn, bool second) {
    constexpr std::array kCosts = {100, 400, 90, 120};
    const bool is_interrupted = second && turn % 5 == 0;
    return nanoseconds(kCosts[static_cast<size_t>(turn) % kCosts.size()] * (second ? 9 : 10) +
                       (is_interrupted ? 1000000 : 0));
  });
  EXPECT_TRUE(trial.takes_second());
}

TEST(TimedChoice, GivesEachOfFourLoopsThatFollowEachOtherAsManyTurnsEitherWay) {
  TimedChoice trial(kPlan);
  std::array<std::array<int, 2>, 4> turns = {};
  run(trial, kPlan.tries, [&](int turn, bool second) {
    ++turns[static_cast<size_t>(turn % 4)][second ? 1 : 0];
    return nanoseconds(100);
  });
  for (const auto& [without, with] : turns) EXPECT_EQ(without, with);
}

TEST(TimedChoice, TriesAgainAfterAWhile) {
  TimedChoice trial(kPlan);
  run(trial, kPlan.tries, [](int, bool second) { return nanoseconds(second ? 60 : 100); });
  run(trial, kPlan.between, [](int, bool second) {
    EXPECT_TRUE(second);
    return nanoseconds(60);
  });
  run(trial, kPlan.tries, [](int, bool second) { return nanoseconds(second ? 100 : 60); });
  EXPECT_FALSE(trial.takes_second());
}

}  // namespace
}  // namespace inferno::backend
