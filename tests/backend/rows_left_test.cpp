#include "backend/cpu/rows_left.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace inferno::backend {
namespace {

TEST(RowsLeft, GoesOnWithAPartWhenItsLastRowIsMade) {
  RowsLeft left;
  left.begin(3, 10);
  std::vector<int64_t> whole;
  const auto note = [&](int64_t part) { whole.push_back(part); };
  left.made(5, 25, 10, note);  // half of 0, all of 1, half of 2
  EXPECT_EQ(whole, (std::vector<int64_t>{1}));
  left.made(25, 30, 10, note);
  EXPECT_EQ(whole, (std::vector<int64_t>{1, 2}));
  left.made(0, 5, 10, note);
  EXPECT_EQ(whole, (std::vector<int64_t>{1, 2, 0}));
}

TEST(RowsLeft, CountsMatricesWithDifferentlyManyRowsOfAPart) {
  RowsLeft left;
  for (int round = 0; round < 2; ++round) {
    left.begin(2, 8 + 4);
    std::vector<int64_t> whole;
    const auto note = [&](int64_t part) { whole.push_back(part); };
    left.made(0, 16, 8, note);
    EXPECT_TRUE(whole.empty());
    left.made(2, 8, 4, note);
    EXPECT_EQ(whole, (std::vector<int64_t>{1}));
    left.made(0, 2, 4, note);
    EXPECT_EQ(whole, (std::vector<int64_t>{1, 0}));
  }
}

// What a part is gone on with has been written by several threads, without atomics.
TEST(RowsLeft, WhoGoesOnSeesWhatAllHaveMade) {
  constexpr int64_t kParts = 50, kRows = 64, kThreads = 4;
  RowsLeft left;
  left.begin(kParts, kRows);
  std::vector<int> made(kParts * kRows);
  std::vector<int> sums(kParts);
  std::vector<std::thread> threads;
  for (int64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int64_t row = t; row < kParts * kRows; row += kThreads) {
        made[static_cast<size_t>(row)] = 1;
        left.made(row, row + 1, kRows, [&](int64_t part) {
          for (int64_t i = part * kRows; i < (part + 1) * kRows; ++i)
            sums[static_cast<size_t>(part)] += made[static_cast<size_t>(i)];
        });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sums, std::vector<int>(kParts, kRows));
}

}  // namespace
}  // namespace inferno::backend
