#include "bench/time_plan.h"

#include <gtest/gtest.h>

#include <vector>

namespace inferno::bench {
namespace {

Config config_of(int64_t prompt, int64_t n) {
  Config config;
  config.prompt_tokens = prompt;
  config.max_new_tokens = n;
  return config;
}

// A second for each token of a prompt, two for each new one.
Pace pace() {
  Pace pace(true);
  pace.observe(64, 64, 10, 20);
  return pace;
}

TEST(Pace, CostsAreThoseOfTheNearestPromptAndOfTheLastRun) {
  Pace pace(true);
  EXPECT_FALSE(pace.known());
  pace.observe(64, 64, 0, 0);
  EXPECT_TRUE(pace.known());
  EXPECT_DOUBLE_EQ(pace.prompt_s(32), 32);
  EXPECT_DOUBLE_EQ(pace.step_s(100), 1) << "as long as a token of the prompt, until one was seen";
  pace.observe(1024, 2048, 10, 5);
  EXPECT_DOUBLE_EQ(pace.prompt_s(100), 100);
  EXPECT_DOUBLE_EQ(pace.prompt_s(1000), 2000);
  EXPECT_DOUBLE_EQ(pace.prompt_s(2048), 4096);
  EXPECT_DOUBLE_EQ(pace.step_s(100), 0.5);
  EXPECT_DOUBLE_EQ(pace.run_s(64, 1), 64);
  EXPECT_DOUBLE_EQ(pace.run_s(64, 9), 64 + 8 * 0.5);
}

TEST(Pace, WithoutACacheANewTokenCostsAllPositions) {
  Pace pace(false);
  // 5, 6 and 7 positions at two seconds each.
  pace.observe(4, 8, 3, 36);
  EXPECT_DOUBLE_EQ(pace.step_s(10), 20);
  EXPECT_DOUBLE_EQ(pace.run_s(4, 4), 8 + 36);
}

TEST(PlanRow, WithEnoughTimeAllRunsAreWhole) {
  const std::vector<Config> rest = {config_of(10, 6), config_of(20, 6)};  // runs of 20 and 30 s
  const RowPlan plan = plan_row(pace(), rest, 5 * 20 + 5 * 30, 2, 3);
  EXPECT_TRUE(plan.fits);
  EXPECT_EQ(plan.warmup_runs, 2);
  EXPECT_EQ(plan.trials, 3);
  EXPECT_DOUBLE_EQ(plan.budget_s, 100);
  EXPECT_DOUBLE_EQ(plan.run_s, 20);
  EXPECT_TRUE(plan.is_whole);
  EXPECT_FALSE(plan_row(pace(), rest, 5 * 20 + 5 * 30 - 1, 2, 3).is_whole);
  EXPECT_FALSE(plan_row(pace(), std::vector{config_of(10, 6), config_of(1000, 6)}, 500, 2, 3).is_whole)
      << "the first has all of its runs, the second none";
}

TEST(PlanRow, ScarceTimeIsSharedByWhatIsStillWanted) {
  // 40 s for the least run of each; the first wants 3 * 140 - 40 = 380 s more, the second 3 * 80 - 40 = 200.
  const std::vector<Config> rest = {config_of(10, 66), config_of(10, 36)};
  const RowPlan plan = plan_row(pace(), rest, 80 + 290, 0, 3);
  EXPECT_TRUE(plan.fits);
  EXPECT_DOUBLE_EQ(plan.least_s, 40);
  EXPECT_DOUBLE_EQ(plan.budget_s, 40 + 190);
  EXPECT_EQ(plan.trials, 3);
  EXPECT_DOUBLE_EQ(plan.run_s, 230.0 / 3);
}

TEST(PlanRow, WarmUpsAreDroppedFirstThenTrials) {
  const std::vector<Config> rest = {config_of(10, 26)};  // a run of 60 s, 40 s at least
  const auto runs = [&](double left_s) {
    const RowPlan plan = plan_row(pace(), rest, left_s, 2, 3);
    return std::pair(plan.warmup_runs, plan.trials);
  };
  EXPECT_EQ(runs(300), std::pair(2, 3));
  EXPECT_EQ(runs(299), std::pair(1, 3));
  EXPECT_EQ(runs(239), std::pair(0, 3));
  EXPECT_EQ(runs(119), std::pair(0, 2));
  EXPECT_EQ(runs(79), std::pair(0, 1));
}

TEST(PlanRow, WhatCannotFitLeavesItsTimeToTheOthers) {
  // The second is too dear beside the others: 1030 s at least.
  const std::vector<Config> rest = {config_of(10, 16), config_of(1000, 16), config_of(10, 26)};
  const RowPlan first = plan_row(pace(), rest, 500, 0, 3);
  EXPECT_DOUBLE_EQ(first.budget_s, 500 - 3 * 60);
  const RowPlan second = plan_row(pace(), std::span(rest).subspan(1), 380, 0, 3);
  EXPECT_FALSE(second.fits);
  EXPECT_DOUBLE_EQ(second.least_s, 1030);
  EXPECT_DOUBLE_EQ(second.left_s, 380 - 40);
  // One that is under way already gets its least run.
  EXPECT_EQ(second.trials, 1);
  EXPECT_DOUBLE_EQ(second.run_s, 1030);
}

TEST(PlanRow, AsManyRowsAsPossibleAreRun) {
  // 1030, 40 and 40 s: in order, the first would leave nothing to the others.
  const std::vector<Config> rest = {config_of(1000, 16), config_of(10, 16), config_of(10, 16)};
  EXPECT_FALSE(plan_row(pace(), rest, 1100, 0, 1).fits);
  EXPECT_TRUE(plan_row(pace(), rest, 1110, 0, 1).fits);
  EXPECT_TRUE(plan_row(pace(), std::span(rest).subspan(1), 80, 0, 1).fits);
  EXPECT_FALSE(plan_row(pace(), rest, 0, 0, 1).fits);
}

// Plain loops on a model of a billion parameters: 0.4 s for a token, in a prompt or new.
TEST(PlanRow, AFullSuiteOfALargeModelGetsTheRowsThatItsTimeAllows) {
  Pace pace(true);
  pace.observe(64, 64 * 0.4, 63, 63 * 0.4);
  const auto rows_of = [&](double left_s) {
    std::vector<std::string> keys;
    for (auto rest = std::span<const Config>(configs()); !rest.empty(); rest = rest.subspan(1)) {
      const RowPlan plan = plan_row(pace, rest, left_s, 2, 3);
      if (!plan.fits) continue;
      keys.push_back(rest.front().key);
      left_s -= plan.budget_s;
    }
    EXPECT_GE(left_s, -1e-9);
    return keys;
  };
  using Keys = std::vector<std::string>;
  EXPECT_EQ(rows_of(100), (Keys{"short", "decode"}));
  EXPECT_EQ(rows_of(500), (Keys{"short", "medium", "decode", "sampled", "full-pipe"}));
  EXPECT_EQ(rows_of(1300).size(), 7u);
}

}  // namespace
}  // namespace inferno::bench
