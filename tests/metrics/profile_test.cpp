#include "metrics/profile.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/check.h"

namespace inferno::metrics {
namespace {

using namespace std::chrono_literals;

Cost weights(uint64_t bytes) {
  Cost cost;
  cost.weight_bytes = bytes;
  return cost;
}

// "depth name calls ns weight_bytes" of each row.
std::vector<std::string> lines(const Profile& profile) {
  std::vector<std::string> lines;
  for (const Profile::Row& row : profile.rows()) {
    lines.push_back(
        fmt::format("{} {} {} {} {}", row.depth, row.name, row.calls, row.time.count(), row.cost.bytes()));
  }
  return lines;
}

void operation(Profile& profile, const char* name, std::chrono::nanoseconds time, const Cost& cost = {}) {
  profile.enter(name);
  profile.leave(time, cost);
}

TEST(Profile, CallsTimesAndCostsOfANameAddUp) {
  Profile profile;
  operation(profile, "embed", 5ns, weights(10));
  operation(profile, "matmul", 7ns, weights(100));
  operation(profile, "embed", 6ns, weights(20));
  EXPECT_EQ(lines(profile), (std::vector<std::string>{"0 embed 2 11 30", "0 matmul 1 7 100"}));
  EXPECT_EQ(profile.total_time(), 18ns);
}

TEST(Profile, AnOperationInsideTwoOthersHasARowInEach) {
  Profile profile;
  for (int layer = 0; layer < 2; ++layer) {
    profile.enter("qkv");
    operation(profile, "matmul", 3ns, weights(1));
    operation(profile, "rope", 1ns);
    operation(profile, "matmul", 3ns, weights(1));
    profile.leave(10ns, weights(2));
    profile.enter("mlp");
    if (layer == 1) operation(profile, "norm", 2ns);  // seen first when rows follow already
    operation(profile, "matmul", 20ns, weights(5));
    profile.leave(30ns, weights(5));
  }
  operation(profile, "matmul", 4ns, weights(7));
  EXPECT_EQ(lines(profile),
            (std::vector<std::string>{"0 qkv 2 20 4", "1 matmul 4 12 4", "1 rope 2 2 0", "0 mlp 2 60 10",
                                      "1 matmul 2 40 10", "1 norm 1 2 0", "0 matmul 1 4 7"}));
  EXPECT_EQ(profile.total_time(), 84ns) << "what is inside counts once";
}

TEST(Profile, TheTotalOfANameIsThatOfAllItsRows) {
  Profile profile;
  for (const char* step : {"qkv", "mlp"}) {
    profile.enter(step);
    operation(profile, "matmul", 3ns, weights(1));
    profile.leave(10ns, weights(2));
  }
  operation(profile, "matmul", 4ns, weights(7));
  const Profile::Row total = profile.total("matmul");
  EXPECT_EQ(total.name, "matmul");
  EXPECT_EQ(total.depth, 0);
  EXPECT_EQ(total.calls, 3u);
  EXPECT_EQ(total.time, 10ns);
  EXPECT_EQ(total.cost.weight_bytes, 9u);
  EXPECT_EQ(profile.total("mat").calls, 0u);
  EXPECT_EQ(profile.total("mat").time, 0ns);
}

TEST(Profile, NestsToAnyDepth) {
  Profile profile;
  profile.enter("a");
  profile.enter("a");
  operation(profile, "a", 1ns);
  profile.leave(2ns, {});
  operation(profile, "b", 1ns);
  profile.leave(4ns, {});
  EXPECT_EQ(lines(profile), (std::vector<std::string>{"0 a 1 4 0", "1 a 1 2 0", "2 a 1 1 0", "1 b 1 1 0"}));
}

TEST(Profile, TheTableGivesSharesRatesAndTheSumOfTheOutermost) {
  Profile profile;
  profile.enter("step");
  Cost cost = weights(3'000'000);
  cost.flops = 6'000'000;
  operation(profile, "part", 1ms, cost);
  profile.leave(3ms, cost);
  operation(profile, "other", 1ms);
  EXPECT_EQ(profile.table(),
            "operation                  calls          ms       %      GB/s   GFLOP/s\n"
            "step                           1       3.000   75.00     1.000     2.000\n"
            "  part                         1       1.000   25.00     3.000     6.000\n"
            "other                          1       1.000   25.00     0.000     0.000\n"
            "total                          2       4.000  100.00     0.750     1.500\n");
}

TEST(Profile, NothingHappenedAndClear) {
  Profile profile;
  EXPECT_EQ(profile.total_time(), 0ns);
  EXPECT_NE(profile.table().find("total                          0       0.000    0.00     0.000     0.000"),
            std::string::npos);
  operation(profile, "embed", 5ns);
  profile.clear();
  EXPECT_TRUE(profile.rows().empty());
}

TEST(Profile, LeavingWithoutEnteringIsOurMistake) {
  Profile profile;
  EXPECT_THROW(profile.leave(1ns, {}), InternalError);
}

}  // namespace
}  // namespace inferno::metrics
