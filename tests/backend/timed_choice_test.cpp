#include "backend/cpu/timed_choice.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace inferno::backend {
namespace {

using std::chrono::nanoseconds;

// Turns of as much work, each as long as `time` says of the way that it went.
template <class Time>
void run(TimedChoice& choice, int n_turns, const Time& time) {
  for (int i = 0; i < n_turns; ++i) choice.took(time(i, choice.way()), 1000);
}

// With so many ways.
class TimedChoiceTest : public testing::TestWithParam<int> {
 protected:
  const TimedChoice::Plan plan_ = {"tested", GetParam(),
                                   GetParam() == 2   ? 32
                                   : GetParam() == 3 ? 36
                                   : GetParam() == 4 ? 48
                                                     : 120,
                                   500};
};

TEST_P(TimedChoiceTest, KeepsTheFastest) {
  for (int fastest = 0; fastest < plan_.ways; ++fastest) {
    TimedChoice choice(plan_);
    run(choice, plan_.tries, [&](int, int way) { return nanoseconds(way == fastest ? 60 : 100 + way); });
    EXPECT_FALSE(choice.is_on_trial());
    EXPECT_EQ(choice.way(), fastest);
  }
}

// The loops of a layer differ in what a byte costs, and the system takes a processor away now and then.
TEST_P(TimedChoiceTest, IsNotMisledByOtherWorkOrInterruptions) {
  for (int fastest = 0; fastest < plan_.ways; ++fastest) {
    TimedChoice choice(plan_);
    run(choice, plan_.tries, [&](int turn, int way) {
      constexpr std::array kCosts = {100, 400, 90, 120};
      const bool is_interrupted = way == fastest && turn % 13 == 5;
      return nanoseconds(kCosts[static_cast<size_t>(turn) % kCosts.size()] * (way == fastest ? 9 : 10) +
                         (is_interrupted ? 1000000 : 0));
    });
    EXPECT_EQ(choice.way(), fastest);
  }
}

TEST_P(TimedChoiceTest, GivesLoopsThatComeRoundAsManyTurnsEachWay) {
  const std::vector<int> periods = plan_.ways == 2 ? std::vector{1, 2, 4, 8} : std::vector{1, 2, 3, 4, 6, 12};
  for (const int period : periods) {
    TimedChoice choice(plan_);
    std::array<std::array<int, TimedChoice::kMostWays>, 12> turns = {};
    run(choice, plan_.tries, [&](int turn, int way) {
      ++turns[static_cast<size_t>(turn % period)][static_cast<size_t>(way)];
      return nanoseconds(100);
    });
    for (int loop = 0; loop < period; ++loop) {
      for (int way = 0; way < plan_.ways; ++way) {
        EXPECT_EQ(turns[static_cast<size_t>(loop)][static_cast<size_t>(way)],
                  plan_.tries / plan_.ways / period)
            << "loop " << loop << " of " << period << ", way " << way;
      }
    }
  }
}

TEST(ShortTimedChoice, GivesFourWaysThreeTurnsEach) {
  for (int fastest = 0; fastest < 4; ++fastest) {
    TimedChoice choice({"tested", 4, 12, 500});
    std::array<int, 4> turns = {};
    run(choice, 12, [&](int turn, int way) {
      ++turns[static_cast<size_t>(way)];
      return nanoseconds(turn == 5 ? 1000000 : way == fastest ? 60 : 100);
    });
    EXPECT_EQ(turns, (std::array{3, 3, 3, 3}));
    EXPECT_FALSE(choice.is_on_trial());
    EXPECT_EQ(choice.way(), fastest);
  }
}

TEST_P(TimedChoiceTest, TriesAgainAfterAWhile) {
  TimedChoice choice(plan_);
  run(choice, plan_.tries, [](int, int way) { return nanoseconds(way == 1 ? 60 : 100); });
  run(choice, plan_.between, [](int, int way) {
    EXPECT_EQ(way, 1);
    return nanoseconds(60);
  });
  run(choice, plan_.tries, [](int, int way) { return nanoseconds(way == 0 ? 60 : 100); });
  EXPECT_EQ(choice.way(), 0);
}

TEST_P(TimedChoiceTest, TriesAgainSoonThenAfterTwiceAsLongEachTime) {
  TimedChoice::Plan plan = plan_;
  plan.first_pause = 100;
  TimedChoice choice(plan);
  const auto trial = [&](int fastest) {
    run(choice, plan.tries, [&](int, int way) {
      EXPECT_TRUE(choice.is_on_trial());
      return nanoseconds(way == fastest ? 60 : 100);
    });
  };
  const auto pause = [&](int n_turns, int expected) {
    run(choice, n_turns, [&](int, int way) {
      EXPECT_FALSE(choice.is_on_trial());
      EXPECT_EQ(way, expected);
      return nanoseconds(100);
    });
  };
  trial(1);
  pause(100, 1);
  trial(0);
  pause(200, 0);
  trial(1);
  pause(400, 1);
  trial(0);
  pause(500, 0);
  trial(1);
  pause(500, 1);
}

INSTANTIATE_TEST_SUITE_P(Ways, TimedChoiceTest, testing::Values(2, 3, 4, 5));

}  // namespace
}  // namespace inferno::backend
