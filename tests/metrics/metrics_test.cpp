#include "metrics/metrics.h"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <type_traits>

#include "support/fake_clock.h"

namespace inferno::metrics {
namespace {

using namespace std::chrono_literals;

Metrics with_passes(std::initializer_list<Metrics::Duration> durations) {
  Metrics metrics;
  for (const Metrics::Duration duration : durations) metrics.record_forward_share(duration, 1);
  return metrics;
}

TEST(Metrics, NothingIsDefinedBeforeTheFirstPass) {
  const Metrics metrics;
  EXPECT_EQ(metrics.time_to_first_token_ms(), std::nullopt);
  EXPECT_EQ(metrics.decode_tokens_per_second(), std::nullopt);
}

TEST(Metrics, TheFirstPassIsTheTimeToFirstToken) {
  const Metrics metrics = with_passes({4218553us, 10ms});
  EXPECT_DOUBLE_EQ(metrics.time_to_first_token_ms().value(), 4218.553);
}

TEST(Metrics, DecodeSpeedLeavesOutThePrefill) {
  EXPECT_EQ(with_passes({5s}).decode_tokens_per_second(), std::nullopt);
  EXPECT_DOUBLE_EQ(with_passes({5s, 250ms}).decode_tokens_per_second().value(), 4.0);
  EXPECT_DOUBLE_EQ(with_passes({5s, 100ms, 300ms, 200ms}).decode_tokens_per_second().value(), 5.0);
}

TEST(Metrics, DecodeInNoTimeAtAllIsZero) {
  EXPECT_EQ(with_passes({5s, 0ns, 0ns}).decode_tokens_per_second(), 0.0);
}

TEST(Metrics, AShareIsTheBatchTimeDividedAmongItsSequences) {
  Metrics metrics;
  metrics.record_forward_share(100ns, 8);
  metrics.record_forward_share(7ns, 8);
  metrics.record_forward_share(1s, 0);
  metrics.record_forward_share(1s, size_t{1} << 33);
  EXPECT_EQ(metrics.per_forward(), (std::vector<Metrics::Duration>{12ns, 0ns, 0ns}));
}

TEST(Metrics, RecordTimedReturnsWhatThePassReturned) {
  struct Fixed {  // neither copies nor moves
    explicit Fixed(int v) : value(v) {}
    Fixed(Fixed&&) = delete;
    int value;
  };
  Metrics metrics;
  int calls = 0;
  int object = 7;
  metrics.record_timed([&] { ++calls; });
  EXPECT_EQ(metrics.record_timed([] { return 42; }), 42);
  EXPECT_EQ(metrics.record_timed([] { return Fixed(3); }).value, 3);
  decltype(auto) reference = metrics.record_timed([&]() -> int& { return object; });
  static_assert(std::is_same_v<decltype(reference), int&>);
  EXPECT_EQ(&reference, &object);
  EXPECT_EQ(
      metrics.record_timed([p = std::make_unique<int>(5)]() mutable { return std::move(p); }).operator*(), 5);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(metrics.per_forward().size(), 5u);
  for (const Metrics::Duration duration : metrics.per_forward()) EXPECT_GE(duration, 0ns);
}

TEST(Metrics, APassTakesAsLongAsItsClockSays) {
  test::FakeClock clock;
  Metrics metrics(clock);
  metrics.record_timed([&] { clock.advance(4ms); });
  clock.advance(1s);
  metrics.record_timed([&] { clock.advance(250us); });
  EXPECT_EQ(metrics.per_forward(), (std::vector<Metrics::Duration>{4ms, 250us}));
}

TEST(Metrics, APassThatThrowsIsNotRecorded) {
  Metrics metrics;
  EXPECT_THROW(metrics.record_timed([] { throw std::runtime_error("device lost"); }), std::runtime_error);
  EXPECT_TRUE(metrics.per_forward().empty());
}

TEST(Metrics, APassInADestructorOfAnUnwindingStackIsRecorded) {
  Metrics metrics;
  struct AtExit {
    Metrics& metrics;
    ~AtExit() {
      metrics.record_timed([] {});
    }
  };
  try {
    const AtExit at_exit{metrics};
    throw std::runtime_error("unwinding");
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(metrics.per_forward().size(), 1u);
}

TEST(Metrics, SummaryHasTheSeedsLines) {
  EXPECT_EQ(with_passes({4218553us, 3691402us, 3724918us, 5402883us}).summary(),
            "metrics:\n"
            " time_to_first_token_ms: 4218.553\n"
            " decode_tokens_per_second: 0.234\n"
            " per_forward_ms: min 3691.402 max 5402.883 mean 4259.439 (n=4)\n"
            " forward 1: 4218.553 ms\n"
            " forward 2: 3691.402 ms\n"
            " forward 3: 3724.918 ms\n"
            " forward 4: 5402.883 ms\n");
}

TEST(Metrics, RowsWithoutPassesLeaveOutTheirs) {
  const Metrics metrics = with_passes({1ms, 2ms});
  const std::vector<Metrics::Row> rows = metrics.rows(false);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].name, "time_to_first_token_ms");
  EXPECT_EQ(rows[0].value, "1.000");
  EXPECT_EQ(rows[2].value, "min 1.000 max 2.000 mean 1.500 (n=2)");
  EXPECT_EQ(metrics.rows(true).size(), 5u);
}

TEST(Metrics, SummaryShowsADashForWhatIsUndefined) {
  EXPECT_EQ(Metrics().summary(),
            "metrics:\n"
            " time_to_first_token_ms: —\n"
            " decode_tokens_per_second: —\n"
            " per_forward_ms: —\n");
  EXPECT_EQ(with_passes({12345us}).summary(),
            "metrics:\n"
            " time_to_first_token_ms: 12.345\n"
            " decode_tokens_per_second: —\n"
            " per_forward_ms: min 12.345 max 12.345 mean 12.345 (n=1)\n"
            " forward 1: 12.345 ms\n");
}

TEST(Metrics, PrintSummaryWritesToStdout) {
  const Metrics metrics = with_passes({1ms, 2ms});
  testing::internal::CaptureStdout();
  metrics.print_summary();
  EXPECT_EQ(testing::internal::GetCapturedStdout(), metrics.summary());
}

}  // namespace
}  // namespace inferno::metrics
