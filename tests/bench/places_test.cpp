#include "bench/places.h"

#include <gtest/gtest.h>

#include "support/bench_reports.h"

namespace inferno::test {
namespace {

using std::chrono::nanoseconds;

// A trial of 64 + 64 tokens for each pair of the shortest and the longest trip, of so many microseconds a
// step.
bench::ConfigResult result_of(std::initializer_list<std::pair<int, int>> trips, int us = 1000) {
  bench::ConfigResult result = make_result("short", {});
  for (const auto& [shortest, longest] : trips) {
    result.trials.push_back(make_trial(64, 64, microseconds(us)));
    result.trials.back().line_trips = {nanoseconds(shortest), nanoseconds(longest)};
  }
  return result;
}

TEST(Places, AreToldApartByALinesTrip) {
  bench::ConfigResult result = result_of({{310, 320}, {60, 64}, {30, 31}, {318, 330}, {58, 60}, {50, 55}});
  // Slower and slower the further apart.
  for (const size_t far : {0u, 3u}) {
    const auto trips = result.trials[far].line_trips;
    result.trials[far] = make_trial(64, 64, microseconds(2000));
    result.trials[far].line_trips = trips;
  }
  const auto places = bench::places(result, make_setting());
  ASSERT_EQ(places.size(), 3u);
  EXPECT_EQ(places[0].n_trials, 1u);
  EXPECT_EQ(places[0].line_trip, nanoseconds(30));
  EXPECT_EQ(places[1].n_trials, 3u);
  EXPECT_EQ(places[1].line_trip, nanoseconds(59));
  EXPECT_EQ(places[2].n_trials, 2u);
  EXPECT_DOUBLE_EQ(places[1].figures.step_ms->p50, 1);
  EXPECT_DOUBLE_EQ(places[2].figures.step_ms->p50, 2);
  EXPECT_DOUBLE_EQ(places[1].figures.decode->of_ceiling->pct, 2 * places[2].figures.decode->of_ceiling->pct);
}

TEST(Places, TrialsDuringWhichTheProcessorsWereMovedAreInNone) {
  const bench::ConfigResult result = result_of({{60, 60}, {60, 320}, {320, 320}});
  EXPECT_FALSE(bench::was_moved(result.trials[0]));
  EXPECT_TRUE(bench::was_moved(result.trials[1]));
  const auto places = bench::places(result, make_setting());
  ASSERT_EQ(places.size(), 2u);
  EXPECT_EQ(places[0].n_trials + places[1].n_trials, 2u);
}

TEST(Places, AreOneWhereNobodyWasMovedAndNoneWhereNobodyLooked) {
  const bench::Setting setting = make_setting();
  EXPECT_TRUE(bench::places(make_result("short", {}), setting).empty());
  EXPECT_TRUE(bench::places(make_result("short", {microseconds(1000)}), setting).empty());
  EXPECT_EQ(bench::places(result_of({{60, 70}, {65, 66}, {90, 95}}), setting).size(), 1u);
  const auto one = bench::places(result_of({{60, 60}, {60, 320}}), setting);
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].n_trials, 1u);
  EXPECT_TRUE(bench::places(result_of({{60, 320}}), setting).empty());
  // Little by little is far as well.
  EXPECT_EQ(bench::places(result_of({{60, 60}, {85, 85}, {120, 120}}), setting).size(), 2u);
}

}  // namespace
}  // namespace inferno::test
