#include "metrics/serving_metrics.h"

#include <gtest/gtest.h>

#include "metrics/moments.h"

namespace inferno::metrics {
namespace {

const Summary& find(const std::vector<ServingMetrics::Row>& rows, std::string_view name) {
  for (const auto& row : rows) {
    if (row.name == name) return row.values.value();
  }
  throw std::runtime_error("no such row");
}

// Two requests that overlap: 0 to 400 ms with 3 tokens, 100 to 1000 ms with 2.
ServingMetrics two_requests() {
  ServingMetrics metrics;
  metrics.kv_residency().pin(1, at(10));
  metrics.kv_residency().pin(2, at(300));
  metrics.add({at(0), at(10), {at(100), at(200), at(300)}, at(400)});
  metrics.kv_residency().unpin(1, at(400));
  metrics.add({at(100), at(300), {at(500), at(900)}, at(1000)});
  metrics.kv_residency().unpin(2, at(1000));
  return metrics;
}

TEST(ServingMetrics, TtpsIsAllTokensOverTheWallClockOfTheRun) {
  const ServingMetrics metrics = two_requests();
  EXPECT_EQ(metrics.n_requests(), 2u);
  EXPECT_EQ(metrics.new_tokens(), 5u);
  EXPECT_DOUBLE_EQ(*metrics.ttps(), 5.0);
}

TEST(ServingMetrics, RowsGatherTheRequests) {
  const auto rows = two_requests().rows();
  EXPECT_DOUBLE_EQ(find(rows, "ttft_s").mean, 0.25);
  EXPECT_DOUBLE_EQ(find(rows, "stil_s").max, 0.2);
  EXPECT_EQ(find(rows, "itl_s").n, 3u);
  EXPECT_DOUBLE_EQ(find(rows, "tpot_s").mean, 0.25);
  EXPECT_DOUBLE_EQ(find(rows, "e2el_s").min, 0.4);
  EXPECT_DOUBLE_EQ(find(rows, "tps").max, 7.5);
  EXPECT_DOUBLE_EQ(find(rows, "kv_residency_s").mean, (0.39 + 0.7) / 2);
}

TEST(ServingMetrics, RequestsAreCountedByHowTheyEnded) {
  ServingMetrics metrics = two_requests();
  metrics.add_cancelled({at(0), at(10), {}, at(50)});
  metrics.add_failed();
  EXPECT_EQ(metrics.n_requests(), 3u);
  EXPECT_EQ(metrics.n_cancelled(), 1u);
  EXPECT_EQ(metrics.n_failed(), 1u);
  EXPECT_EQ(find(metrics.rows(), "tps").n, 2u) << "no token, no speed";
  EXPECT_EQ(find(metrics.rows(), "e2el_s").n, 3u);
  EXPECT_NE(metrics.csv().find("\nn_cancelled,1,1,,,,,\nn_failed,1,1,,,,,\n"), std::string::npos);
}

TEST(ServingMetrics, MemoryIsBoundedAndTheCountsExact) {
  Timeline timeline{at(0), at(1), {}, at(2)};
  timeline.tokens.assign(Sample::kMaxKept + 100, at(2));
  ServingMetrics metrics;
  for (int i = 0; i < 3; ++i) metrics.add(timeline);
  EXPECT_EQ(find(metrics.rows(), "itl_s").n, 3 * (Sample::kMaxKept + 99));
  EXPECT_EQ(find(metrics.rows(), "itl_s").max, 0);
}

TEST(ServingMetrics, CsvHasARowForEachAndIsEmptyWhereNothingIsKnown) {
  EXPECT_EQ(ServingMetrics().csv(),
            "metric,n,mean,min,p50,p95,p99,max\n"
            "tps,0,,,,,,\nttft_s,0,,,,,,\nstil_s,0,,,,,,\nitl_s,0,,,,,,\ntpot_s,0,,,,,,\ne2el_s,0,,,,,,\n"
            "kv_residency_s,0,,,,,,\nn_requests,1,0,,,,,\nn_cancelled,1,0,,,,,\nn_failed,1,0,,,,,\nnew_"
            "tokens,1,0,,,,,\nttps,0,,,,,,\n");
  const std::string csv = two_requests().csv();
  EXPECT_NE(csv.find("\nttft_s,2,0.25,0.1,0.25,0.385,0.397,0.4\n"), std::string::npos) << csv;
  EXPECT_NE(csv.find("\nttps,1,5,,,,,\n"), std::string::npos) << csv;
}

}  // namespace
}  // namespace inferno::metrics
