#include "bench/compare.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "support/bench_reports.h"

namespace inferno::test {
namespace {

using bench::Verdict;

std::vector<microseconds> around(int us, std::initializer_list<int> offsets) {
  std::vector<microseconds> steps;
  for (const int offset : offsets) steps.emplace_back(us + 20 * offset);
  return steps;
}

bench::Report report(const std::vector<microseconds>& steps) {
  return {make_setting(), {make_result("short", steps)}};
}

TEST(RankSum, IsTheExactPermutationProbability) {
  const std::vector<double> low = {1, 2, 3};
  const std::vector<double> high = {4, 5, 6};
  EXPECT_DOUBLE_EQ(bench::rank_sum_p(low, high), 0.1);  // 2 of the 20 ways to choose 3 of 6
  EXPECT_DOUBLE_EQ(bench::rank_sum_p(high, low), 0.1);
  EXPECT_DOUBLE_EQ(bench::rank_sum_p(low, low), 1);
  // Mann and Whitney's table: n = 5 and 5, U = 2 has a one-sided probability of 0.016 (4 of 252).
  const std::vector<double> a = {1, 2, 3, 4, 7};
  const std::vector<double> b = {5, 6, 8, 9, 10};
  EXPECT_DOUBLE_EQ(bench::rank_sum_p(a, b), 8.0 / 252);
  EXPECT_DOUBLE_EQ(bench::rank_sum_p({}, low), 1);
  EXPECT_DOUBLE_EQ(bench::least_rank_sum_p(3, 3), 0.1);
  EXPECT_DOUBLE_EQ(bench::least_rank_sum_p(2, 2), 1.0 / 3);
}

TEST(RankSum, TiesShareTheirRank) {
  const std::vector<double> a = {1, 1, 2};
  const std::vector<double> b = {2, 3, 3};
  // Ranks 1.5 1.5 3.5 | 3.5 5.5 5.5; sums of three as low as 6.5: {1.5 1.5 3.5} twice; as high: twice. Of 20.
  EXPECT_DOUBLE_EQ(bench::rank_sum_p(a, b), 0.2);
  const std::vector<double> same(4, 7.0);
  EXPECT_DOUBLE_EQ(bench::rank_sum_p(same, same), 1);
}

TEST(RankSum, LargeSamplesAgreeWithTheExactDistribution) {
  // 20 of each is exact, 21 is not: the probability moves little.
  const auto p = [](int n) {
    std::vector<double> a;
    std::vector<double> b;
    for (int i = 0; i < n; ++i) {
      a.push_back(i);
      b.push_back(i + 0.3 * n + 0.5);
    }
    return bench::rank_sum_p(a, b);
  };
  EXPECT_LT(p(20), 0.02);
  EXPECT_NEAR(p(20), p(21), 0.005);
}

TEST(RankSum, EqualDistributionsAreCalledDifferentAboutAsOftenAsTheLevelSays) {
  std::mt19937 random(1);
  std::normal_distribution<double> noise;
  int called = 0;
  constexpr int kRounds = 2000;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<double> a(5);
    std::vector<double> b(5);
    for (double& x : a) x = noise(random);
    for (double& x : b) x = noise(random);
    called += bench::rank_sum_p(a, b) <= bench::kLevel ? 1 : 0;
  }
  EXPECT_LT(called, kRounds * 12 / 100);
  EXPECT_GT(called, kRounds * 5 / 100);
}

TEST(Compare, TellsFasterFromSlowerFromNothing) {
  const auto a = report(around(1000, {0, 1, 2, 3, 4}));
  const auto verdicts = [&](const bench::Report& b) {
    std::vector<Verdict> found;
    const auto comparison = bench::compare(a, b).value();
    for (const auto& metric : comparison.configs.at(0).metrics) found.push_back(metric.verdict);
    return found;
  };
  EXPECT_EQ(verdicts(report(around(1200, {0, 1, 2, 3, 4}))), std::vector(3, Verdict::kSlower));
  EXPECT_EQ(verdicts(report(around(800, {0, 1, 2, 3, 4}))), std::vector(3, Verdict::kFaster));
  EXPECT_EQ(verdicts(report(around(1005, {4, 0, 3, 1, 2}))), std::vector(3, Verdict::kNoDifferenceShown));
  EXPECT_EQ(verdicts(report(around(2000, {0}))), std::vector(3, Verdict::kTooFewTrials));
}

TEST(Compare, GivesRatiosInWhichWorseIsWorse) {
  const auto comparison =
      bench::compare(report(around(1000, {0, 0, 0})), report(around(2000, {0, 0, 0}))).value();
  const auto& metrics = comparison.configs.at(0).metrics;
  ASSERT_EQ(metrics.size(), 3u);
  EXPECT_EQ(metrics[1].metric, "decode tok/s");
  EXPECT_DOUBLE_EQ(metrics[1].ratio, 0.5);
  EXPECT_DOUBLE_EQ(metrics[1].regression, 0.5);
  EXPECT_EQ(metrics[2].metric, "TTFT ms");
  EXPECT_DOUBLE_EQ(metrics[2].ratio, 2);
  EXPECT_DOUBLE_EQ(metrics[2].regression, 1);
}

TEST(Compare, TheGateLooksAtMediansAndSaysWhatIsWorse) {
  const auto better = bench::compare(report(around(1000, {0, 0, 0})), report(around(900, {0, 0, 0}))).value();
  EXPECT_TRUE(bench::regressions(better, 0).empty());
  const auto worse = bench::compare(report(around(1000, {0, 0, 0})), report(around(1100, {0, 0, 0}))).value();
  EXPECT_EQ(bench::regressions(worse, 0.03).size(), 3u);
  EXPECT_NE(bench::regressions(worse, 0.03)[1].find("short: decode tok/s is 9.1 % worse"), std::string::npos);
  EXPECT_EQ(bench::regressions(worse, 0.095).size(), 1u);  // TTFT: 10 % more
  EXPECT_TRUE(bench::regressions(worse, 0.11).empty());
  // One trial shows nothing and fails all the same.
  const auto few = bench::compare(report(around(1000, {0})), report(around(1100, {0}))).value();
  EXPECT_TRUE(bench::regressions(few, 0.03).empty());
  EXPECT_EQ(bench::undecided(few, 0.03).size(), 3u);
}

TEST(Compare, ARegressionThatTheTestDoesNotShowDeservesAnotherRun) {
  const bench::Report a = report(around(1000, {-1, 0, 1}));
  EXPECT_TRUE(bench::undecided(*bench::compare(a, report(around(1200, {-1, 0, 1}))), 0.03).empty())
      << "shown";
  EXPECT_TRUE(bench::undecided(*bench::compare(a, a), 0.03).empty()) << "nothing is worse";
  const auto scattered = bench::compare(a, report(around(1200, {-12, 0, 1}))).value();
  EXPECT_TRUE(bench::regressions(scattered, 0.03).empty());
  const std::vector<std::string> undecided = bench::undecided(scattered, 0.03);
  ASSERT_EQ(undecided.size(), 3u);
  EXPECT_TRUE(undecided[0].ends_with(", perhaps by chance: no difference shown")) << undecided[0];
}

TEST(Compare, APassWithScatterAboveTheGateIsSaidToBeUncertain) {
  const auto noisy =
      bench::compare(report(around(1000, {0, 5, 10})), report(around(1000, {0, 5, 10}))).value();
  EXPECT_TRUE(bench::regressions(noisy, 0.03).empty());
  EXPECT_EQ(bench::wide_spreads(noisy, 0.03).size(), 3u);
  EXPECT_TRUE(bench::wide_spreads(noisy, 0.5).empty());
}

TEST(Compare, RefusesWhatCannotBeCompared) {
  const bench::Report a = make_report();
  const auto refusal = [&](const std::function<void(bench::Report&)>& change) {
    bench::Report b = make_report();
    change(b);
    const auto comparison = bench::compare(a, b);
    EXPECT_FALSE(comparison.ok());
    if (comparison.ok()) return std::string();
    EXPECT_EQ(comparison.error().code, ErrorCode::kInvalidArgument);
    return comparison.error().message;
  };
  EXPECT_EQ(refusal([](auto& b) { b.setting.model = "other"; }),
            "cannot compare: the model of the first report is \"tiny-1b\", of the second \"other\"");
  EXPECT_NE(refusal([](auto& b) { b.setting.dtype = "F16"; }).find("the weights' type"), std::string::npos);
  EXPECT_NE(refusal([](auto& b) { b.setting.device.threads = 1; }).find("the number of threads"),
            std::string::npos);
  EXPECT_EQ(refusal([](auto& b) { b.setting.use_kv_cache = false; }),
            "cannot compare: the decoding of the first report is \"with a KV cache\", of the second "
            "\"without\"");
  EXPECT_NE(refusal([](auto& b) { b.results[0].prompt_tokens = 63; }).find("63 + 64 tokens"),
            std::string::npos);
  EXPECT_NE(refusal([](auto& b) { b.results[0].config.sampling.top_k = 3; }).find("samples"),
            std::string::npos);
  EXPECT_NE(refusal([](auto& b) { b.results.clear(); }).find("no configuration"), std::string::npos);
  EXPECT_NE(refusal([](auto& b) {
              for (auto& result : b.results) result.trials.clear();
            }).find("no configuration"),
            std::string::npos);
}

TEST(Compare, WarnsOfOtherMachinesAndOfWhatOnlyOneHas) {
  bench::Report b = make_report();
  b.setting.device_name = "another";
  b.setting.device.isa = "avx512";
  b.results.push_back(make_result("long", {microseconds(1000)}));
  const auto comparison = bench::compare(make_report(), b).value();
  EXPECT_EQ(comparison.configs.size(), 2u);
  ASSERT_EQ(comparison.warnings.size(), 3u);
  EXPECT_NE(comparison.warnings[0].find("different machines"), std::string::npos);
  EXPECT_EQ(comparison.warnings[2], "long is in the second report only");
  EXPECT_TRUE(comparison.missing.empty());
  EXPECT_TRUE(bench::compare(make_report(), make_report())->warnings.empty());
}

TEST(Compare, WarnsOfTrialsWithTheProcessorsInSeveralPlaces) {
  // Each report of one place, and yet two.
  const auto report_at = [](int trip) {
    bench::Report report = make_report();
    for (bench::Trial& trial : report.results[0].trials)
      trial.line_trips = {std::chrono::nanoseconds(trip), std::chrono::nanoseconds(trip)};
    return report;
  };
  EXPECT_TRUE(bench::compare(report_at(60), report_at(62))->warnings.empty());
  const auto comparison = bench::compare(report_at(60), report_at(320)).value();
  ASSERT_EQ(comparison.warnings.size(), 1u);
  EXPECT_TRUE(
      comparison.warnings[0].starts_with("short: the host moved the processors between trials (a cache "
                                         "line's trip from one to another took 60 to 320 ns)"))
      << comparison.warnings[0];
}

TEST(Compare, WhatTheSecondReportDidNotMeasureIsMissing) {
  bench::Report b = make_report();
  b.results[1].trials.clear();
  EXPECT_EQ(bench::compare(make_report(), b)->missing,
            std::vector<std::string>{"medium has no trials in the second report"});
  b.results.pop_back();
  EXPECT_EQ(bench::compare(make_report(), b)->missing,
            std::vector<std::string>{"medium is not in the second report"});
  // Of a row that was cut at its first token there is no decode.
  bench::Report cut = make_report();
  cut.results[0].cut = true;
  cut.results[0].trials = {make_trial(64, 1, microseconds(1000))};
  EXPECT_EQ(
      bench::compare(make_report(), cut)->missing,
      std::vector<std::string>{"short: decode tok/s cannot be compared with the second report's trials"});
  EXPECT_TRUE(bench::compare(cut, make_report())->missing.empty());
  bench::Report neither = make_report();
  neither.results[1].trials.clear();
  EXPECT_TRUE(bench::compare(neither, b)->missing.empty());
}

TEST(Compare, CutRowsAreComparedOverTheTokensThatBothHave) {
  // The steps after the common ones are slow: they do not count.
  const auto cut_at = [](int64_t tokens) {
    bench::Report report = make_report();
    bench::ConfigResult& row = report.results[0];
    row.cut = true;
    row.max_new_tokens = tokens;
    row.trials = {make_trial(64, tokens, microseconds(1000))};
    for (size_t i = 8; i < row.trials[0].steps.size(); ++i) row.trials[0].steps[i] = milliseconds(50);
    return report;
  };
  const auto comparison = bench::compare(cut_at(9), cut_at(12)).value();
  ASSERT_EQ(comparison.configs.size(), 2u);
  for (const auto& metric : comparison.configs[0].metrics) EXPECT_DOUBLE_EQ(metric.ratio, 1) << metric.metric;
  EXPECT_DOUBLE_EQ(comparison.configs[0].metrics[0].a.p50, 9 / 0.0181);  // 10.1 ms to the first, 8 of 1 ms
  EXPECT_DOUBLE_EQ(comparison.configs[0].metrics[1].b.p50, 1000);
  ASSERT_EQ(comparison.warnings.size(), 1u);
  EXPECT_TRUE(comparison.warnings[0].starts_with("short is compared over its first 9 tokens"));
  EXPECT_TRUE(bench::compare(cut_at(9), make_report()).ok());
}

TEST(Compare, TableShowsMediansQuartilesAndVerdict) {
  const auto comparison =
      bench::compare(report(around(1000, {0, 1, 2})), report(around(1200, {0, 1, 2}))).value();
  const std::string table = bench::comparison_table(comparison);
  EXPECT_NE(table.find("| short  | decode tok/s | 980.39 (970.97 to 990.20, n=3) |"), std::string::npos)
      << table;
  EXPECT_NE(table.find("| 0.836 | 0.100 | slower |"), std::string::npos) << table;
}

}  // namespace
}  // namespace inferno::test
