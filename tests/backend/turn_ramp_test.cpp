#include "backend/cpu/turn_ramp.h"

#include <gtest/gtest.h>

#include <vector>

namespace inferno::backend {
namespace {

std::vector<int64_t> sizes(const TurnRamp& ramp, int64_t n) {
  std::vector<int64_t> sizes;
  for (int64_t i = 0; i < ramp.n_turns(); ++i) sizes.push_back(ramp.begin(i + 1, n) - ramp.begin(i, n));
  return sizes;
}

TEST(TurnRamp, GoesThroughEverythingOnceAndInOrder) {
  for (int64_t n = 0; n <= 150; ++n) {
    for (int64_t most = 1; most <= 20; ++most) {
      for (int edges = 0; edges < 4; ++edges) {
        const int64_t least = 1 + (n + edges) % most;
        const TurnRamp ramp(n, least, most, edges % 2 != 0, edges / 2 != 0);
        for (const int64_t own : {n, std::max<int64_t>(0, n - 1)}) {
          SCOPED_TRACE(testing::Message()
                       << own << " of " << n << " by " << least << " to " << most << ", edges " << edges);
          ASSERT_EQ(ramp.begin(0, own), 0);
          ASSERT_EQ(ramp.begin(ramp.n_turns(), own), own);
          for (const int64_t size : sizes(ramp, own)) {
            ASSERT_GE(size, 0);
            ASSERT_LE(size, most);
          }
        }
      }
    }
  }
}

TEST(TurnRamp, GrowsFromTheFirstAndShrinksToTheLast) {
  EXPECT_EQ(sizes(TurnRamp(25, 1, 5, true, true), 25), (std::vector<int64_t>{1, 2, 4, 5, 5, 1, 4, 2, 1}));
  EXPECT_EQ(sizes(TurnRamp(22, 1, 5, true, false), 22), (std::vector<int64_t>{1, 2, 4, 5, 5, 5}));
  EXPECT_EQ(sizes(TurnRamp(22, 1, 5, false, true), 22), (std::vector<int64_t>{5, 5, 5, 4, 2, 1}));
  EXPECT_EQ(sizes(TurnRamp(10, 1, 5, false, false), 10), (std::vector<int64_t>{5, 5}));
  EXPECT_EQ(sizes(TurnRamp(64, 8, 32, false, true), 64), (std::vector<int64_t>{32, 8, 16, 8}));
  EXPECT_EQ(sizes(TurnRamp(16, 4, 16, false, true), 16), (std::vector<int64_t>{12, 4}));
  EXPECT_EQ(sizes(TurnRamp(16, 1, 2, false, true), 16), (std::vector<int64_t>{2, 2, 2, 2, 1, 2, 2, 2, 1}));
  EXPECT_EQ(sizes(TurnRamp(2, 1, 2, false, true), 2), (std::vector<int64_t>{1, 1}));
}

}  // namespace
}  // namespace inferno::backend
