#include "metrics/stats.h"

#include <gtest/gtest.h>

namespace inferno::metrics {
namespace {

TEST(Stats, PercentilesInterpolateBetweenNeighbours) {
  const std::vector<double> sample = {4, 1, 3, 2};  // any order
  EXPECT_DOUBLE_EQ(*percentile(sample, 0), 1);
  EXPECT_DOUBLE_EQ(*percentile(sample, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(*percentile(sample, 0.25), 1.75);
  EXPECT_DOUBLE_EQ(*percentile(sample, 0.95), 3.85);
  EXPECT_DOUBLE_EQ(*percentile(sample, 1), 4);
  EXPECT_DOUBLE_EQ(*percentile(std::vector<double>{7}, 0.95), 7);
}

TEST(Stats, NothingIsKnownOfNothing) {
  EXPECT_EQ(percentile({}, 0.5), std::nullopt);
  EXPECT_FALSE(summarize({}).has_value());
}

TEST(Stats, SummarySaysAllAtOnce) {
  const Summary summary = *summarize(std::vector<double>{10, 30, 20});
  EXPECT_EQ(summary.n, 3u);
  EXPECT_DOUBLE_EQ(summary.mean, 20);
  EXPECT_DOUBLE_EQ(summary.min, 10);
  EXPECT_DOUBLE_EQ(summary.max, 30);
  EXPECT_DOUBLE_EQ(summary.p25, 15);
  EXPECT_DOUBLE_EQ(summary.p50, 20);
  EXPECT_DOUBLE_EQ(summary.p75, 25);
}

}  // namespace
}  // namespace inferno::metrics
