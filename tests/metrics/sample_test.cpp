#include "metrics/sample.h"

#include <gtest/gtest.h>

namespace inferno::metrics {
namespace {

TEST(Sample, IsExactWhileAllIsKept) {
  Sample sample;
  EXPECT_FALSE(sample.summary().has_value());
  for (const double value : {30.0, 10.0, 20.0}) sample.add(value);
  EXPECT_EQ(sample.kept(), (std::vector<double>{30, 10, 20}));
  const Summary summary = sample.summary().value();
  EXPECT_EQ(summary.n, 3u);
  EXPECT_DOUBLE_EQ(summary.mean, 20);
  EXPECT_DOUBLE_EQ(summary.min, 10);
  EXPECT_DOUBLE_EQ(summary.p50, 20);
  EXPECT_DOUBLE_EQ(summary.max, 30);
}

Sample of_numbers_to(uint64_t n) {
  Sample sample;
  for (uint64_t i = 1; i <= n; ++i) sample.add(static_cast<double>(i));
  return sample;
}

TEST(Sample, BeyondTheLimitItIsAUniformChoiceWithExactBounds) {
  constexpr uint64_t kValues = 20 * Sample::kMaxKept;
  const Sample sample = of_numbers_to(kValues);
  EXPECT_EQ(sample.kept().size(), Sample::kMaxKept);
  const Summary summary = sample.summary().value();
  constexpr auto kAll = static_cast<double>(kValues);
  EXPECT_EQ(summary.n, kValues);
  EXPECT_DOUBLE_EQ(summary.mean, (kAll + 1) / 2);
  EXPECT_EQ(summary.min, 1);
  EXPECT_EQ(summary.max, kAll);
  // The standard error of these shares is below 0.004.
  EXPECT_NEAR(summary.p25 / kAll, 0.25, 0.02);
  EXPECT_NEAR(summary.p50 / kAll, 0.5, 0.02);
  EXPECT_NEAR(summary.p95 / kAll, 0.95, 0.02);
  EXPECT_EQ(sample.kept(), of_numbers_to(kValues).kept()) << "every run chooses alike";
}

}  // namespace
}  // namespace inferno::metrics
