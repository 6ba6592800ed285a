#include "base/tick_counter.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace inferno {
namespace {

TEST(TickScale, TakesTheLongBaseline) {
  // 2.5 ticks a nanosecond; the sample in the middle is 10 ns late.
  const TickScale scale({1000, 0}, {2'500'001'000, 1'000'000'010}, {2'512'501'000, 1'005'000'000});
  EXPECT_EQ(scale.duration_ns(2500), 1000);
  EXPECT_EQ(scale.time_ns(2'512'501'000), 1'005'000'000);
  EXPECT_EQ(scale.time_ns(1000), 0);
}

TEST(TickScale, TakesTheShortOneIfOneOfTheClocksStoodStillBefore) {
  const TickSample before{1000, 0}, woken{1001, 500'000'000}, later{12'501'001, 505'000'000};
  EXPECT_EQ(TickScale(before, woken, later).duration_ns(2500), 1000);
}

TEST(TickCounter, AgreesWithTheSteadyClock) {
  if (!has_tick_counter()) GTEST_SKIP() << "no counter of constant rate here";
  const auto sleep = [] { std::this_thread::sleep_for(std::chrono::milliseconds(10)); };
  const TickSample a = sample_ticks();
  sleep();
  const TickSample b = sample_ticks();
  sleep();
  const TickSample c = sample_ticks();
  EXPECT_LT(a.ticks, b.ticks);
  EXPECT_LT(a.ns, b.ns);
  const TickScale scale(a, b, c);
  // What lies between is measured the same by both.
  EXPECT_NEAR(static_cast<double>(scale.time_ns(b.ticks)), static_cast<double>(b.ns),
              1e-3 * static_cast<double>(c.ns - a.ns));
}

}  // namespace
}  // namespace inferno
