#include "engine/scheduler.h"

#include <gtest/gtest.h>

#include "base/check.h"
#include "support/fake_clock.h"

namespace inferno::engine {
namespace {

using RequestIds = std::vector<RequestId>;

TEST(Scheduler, FirstComeFirstServedWithinTheLimit) {
  Scheduler scheduler({.max_running = 2, .max_waiting = 10});
  ASSERT_TRUE(scheduler.enqueue_batch(RequestIds{5, 3, 9}).ok());
  EXPECT_EQ(scheduler.dispatch_next(), 5u);
  EXPECT_EQ(scheduler.dispatch_next(), 3u);
  EXPECT_EQ(scheduler.dispatch_next(), std::nullopt) << "two run already";
  EXPECT_EQ(scheduler.n_running(), 2u);
  EXPECT_EQ(scheduler.n_waiting(), 1u);
  scheduler.finish(5);
  EXPECT_EQ(scheduler.dispatch_next(), 9u);
}

TEST(Scheduler, AFullQueueTakesAllOrNothing) {
  Scheduler scheduler({.max_running = 1, .max_waiting = 3});
  ASSERT_TRUE(scheduler.enqueue_batch(RequestIds{1, 2}).ok());
  const Status full = scheduler.enqueue_batch(RequestIds{3, 4});
  ASSERT_FALSE(full.ok());
  EXPECT_EQ(full.error().code, ErrorCode::kResource);
  EXPECT_EQ(full.error().message, "2 requests wait already, 2 more are beyond the limit of 3");
  EXPECT_EQ(scheduler.n_waiting(), 2u);
  EXPECT_TRUE(scheduler.enqueue_batch(RequestIds{3}).ok());
}

TEST(Scheduler, StilIsTheDifferenceOfTheStages) {
  test::FakeClock clock;
  Scheduler scheduler({}, clock);
  clock.advance(std::chrono::milliseconds(10));
  ASSERT_TRUE(scheduler.enqueue_batch(RequestIds{1}).ok());
  EXPECT_EQ(scheduler.stage_time(1, Scheduler::Stage::kDispatch), std::nullopt);
  clock.advance(std::chrono::milliseconds(25));
  EXPECT_EQ(scheduler.dispatch_next(), 1u);
  EXPECT_EQ(*scheduler.stage_time(1, Scheduler::Stage::kDispatch) -
                *scheduler.stage_time(1, Scheduler::Stage::kEnqueue),
            std::chrono::milliseconds(25));
  scheduler.finish(1);
  EXPECT_EQ(scheduler.stage_time(1, Scheduler::Stage::kEnqueue), std::nullopt);
}

TEST(Scheduler, ARequestMayGiveUpWhileItWaits) {
  Scheduler scheduler({});
  ASSERT_TRUE(scheduler.enqueue_batch(RequestIds{1, 2}).ok());
  scheduler.finish(1);
  EXPECT_EQ(scheduler.dispatch_next(), 2u);
  EXPECT_THROW(scheduler.finish(1), InternalError);
}

}  // namespace
}  // namespace inferno::engine
