#include "metrics/timeline.h"

#include <gtest/gtest.h>

#include "metrics/moments.h"

namespace inferno::metrics {
namespace {

using std::chrono::milliseconds;

// Handed in at 100 ms, run from 130, three tokens, done at 300.
Timeline three_tokens() {
  return {at(100), at(130), {at(180), at(200), at(260)}, at(300)};
}

TEST(Timeline, EachLatencyIsWhatItsNameSays) {
  const Timeline t = three_tokens();
  EXPECT_DOUBLE_EQ(t.ttft()->count(), 0.080);
  EXPECT_DOUBLE_EQ(t.stil()->count(), 0.030);
  EXPECT_DOUBLE_EQ(t.tpot()->count(), 0.040);
  EXPECT_DOUBLE_EQ(t.e2el()->count(), 0.200);
  EXPECT_DOUBLE_EQ(*t.tps(), 15.0);
  const auto itl = t.itl();
  ASSERT_EQ(itl.size(), 2u);
  EXPECT_DOUBLE_EQ(itl[0].count(), 0.020);
  EXPECT_DOUBLE_EQ(itl[1].count(), 0.060);
}

TEST(Timeline, TpotIsTheMeanOfItl) {
  const Timeline t = three_tokens();
  EXPECT_DOUBLE_EQ((t.itl()[0] + t.itl()[1]).count() / 2, t.tpot()->count());
}

TEST(Timeline, WhatHasNotHappenedIsUndefined) {
  Timeline t;
  EXPECT_FALSE(t.ttft() || t.stil() || t.tpot() || t.e2el() || t.tps());
  EXPECT_TRUE(t.itl().empty());
  t.enqueued = at(0);
  EXPECT_FALSE(t.ttft() || t.stil() || t.e2el());
  t.dispatched = at(5);
  EXPECT_TRUE(t.stil());
  t.tokens = {at(9)};
  EXPECT_TRUE(t.ttft());
  EXPECT_FALSE(t.tpot()) << "one token has no next one";
}

TEST(Timeline, NoTimeAtAllIsNoDivisionByZero) {
  Timeline t{at(7), at(7), {at(7)}, at(7)};
  EXPECT_DOUBLE_EQ(*t.tps(), 0);
}

}  // namespace
}  // namespace inferno::metrics
