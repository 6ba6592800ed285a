#include "bench/share_gate.h"

#include <gtest/gtest.h>

#include "bench/figures.h"
#include "bench/places.h"
#include "support/bench_reports.h"

namespace inferno::test {
namespace {

std::vector<std::string> missed(const bench::Report& report, const std::vector<std::string>& texts) {
  std::vector<bench::ShareBound> bounds;
  for (const std::string& text : texts) bounds.push_back(bench::parse_share_bound(text).value());
  return bench::missed_bounds(report, bounds);
}

// A prompt's 100 ms: 80 of products, 16 of attention, 4 of the rest; 18 G operations of 24 possible in the
// products, 0.4 of 1.6 in attention.
bench::Report report_with_parts() {
  bench::Report report{make_setting(), {make_result("short", {microseconds(1000)})}};
  bench::Trial& trial = report.results.front().trials.front();
  trial.prompt_parts = bench::PromptParts{.matrices = milliseconds(80),
                                          .attention = milliseconds(16),
                                          .rest = milliseconds(4),
                                          .matrix_flops = 18'000'000'000};
  trial.prefill_cost.attention_flops = 400'000'000;
  return report;
}

TEST(ShareGate, IsReadFromAFigureAndAPercentage) {
  const auto bound = bench::parse_share_bound("matrices=65.5%").value();
  EXPECT_EQ(bound.figure, "matrices");
  EXPECT_EQ(bound.percent, 65.5);
  for (const char* text : {"", "decode", "decode=", "=92", "decode=much", "decode=-1", "decode=92%%",
                           "speed=3", "decode=nan", "Decode=92"}) {
    const auto refused = bench::parse_share_bound(text);
    ASSERT_FALSE(refused.ok()) << text;
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(refused.error().message.find("expected one of prompt, decode, matrices, attention, rest"),
              std::string::npos)
        << refused.error().message;
  }
  EXPECT_TRUE(bench::parse_share_bound("decod=92").error().message.ends_with("; did you mean decode?"));
}

TEST(ShareGate, HoldsWhatReachesItsBound) {
  const bench::Report report = report_with_parts();
  EXPECT_TRUE(missed(report, {}).empty());
  EXPECT_TRUE(missed(report, {"matrices=75", "attention=25", "rest=4"}).empty());
  const auto lines = missed(report, {"matrices=75.1", "attention=25.1", "rest=3.9"});
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0],
            "short: matrices: 75.0 % of the arithmetic peak in a prompt's products with weights, at least "
            "75.1 % asked for");
  EXPECT_EQ(
      lines[2],
      "short: rest: 4.0 % of a prompt's time for all but products and attention, at most 3.9 % asked for");
}

TEST(ShareGate, WhatWasNotMeasuredIsMissed) {
  bench::Report report = make_report();
  const auto lines = missed(report, {"rest=100"});
  ASSERT_EQ(lines.size(), 2u);  // both rows
  EXPECT_NE(lines[0].find("short: rest: not measured"), std::string::npos) << lines[0];
  report.results.front().trials.clear();
  EXPECT_EQ(missed(report, {"decode=0"}), std::vector<std::string>{"short: not measured"});
}

// As fast in both, but held against twice the memory in one.
TEST(ShareGate, EachPlaceOfTheProcessorsIsJudged) {
  const bench::Report report{make_setting(), {make_result_of_two_places("short")}};
  const auto figures = bench::figures(report.results.front(), report.setting);
  ASSERT_TRUE(figures && figures->decode && figures->decode->of_ceiling);
  const auto apart =
      bench::places(report.results.front(), report.setting).back().figures.decode->of_ceiling->pct;
  const auto lines = missed(report, {fmt::format("decode={}", 1.5 * apart)});
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines[0].find("short (a line's trip of 320 ns): decode: "), std::string::npos) << lines[0];
}

}  // namespace
}  // namespace inferno::test
