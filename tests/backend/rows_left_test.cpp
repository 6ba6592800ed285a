#include "backend/cpu/rows_left.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace inferno::backend {
namespace {

using Parts = std::vector<int64_t>;

// The parts that are whole by rows begin .. end - 1.
Parts whole_by(RowsLeft& left, int64_t begin, int64_t end, int64_t rows) {
  Parts whole;
  left.made(begin, end, rows, [&](int64_t part) { whole.push_back(part); });
  return whole;
}

TEST(RowsLeft, GoesOnWithAPartWhenItsLastRowIsMade) {
  RowsLeft left;
  left.begin(3, 10);
  EXPECT_EQ(whole_by(left, 5, 25, 10), Parts{1}) << "half of 0, all of 1, half of 2";
  EXPECT_EQ(whole_by(left, 25, 30, 10), Parts{2});
  EXPECT_EQ(whole_by(left, 0, 5, 10), Parts{0});
}

TEST(RowsLeft, CountsMatricesWithDifferentlyManyRowsOfAPart) {
  RowsLeft left;
  for (int round = 0; round < 3; ++round) {
    left.begin(2, 8 + 4);
    EXPECT_EQ(whole_by(left, 0, 16, 8), Parts{});
    EXPECT_EQ(whole_by(left, 2, 8, 4), Parts{1});
    EXPECT_EQ(whole_by(left, 0, 2, 4), Parts{0});
    left.end();
  }
}

TEST(RowsLeft, CountsAnewAfterAProductThatWasGivenUp) {
  RowsLeft left;
  for (int round = 0; round < 2; ++round) {
    left.begin(2, 10);
    EXPECT_EQ(whole_by(left, 0, 15, 10), Parts{0});
  }
  EXPECT_EQ(whole_by(left, 15, 20, 10), Parts{1});
}

TEST(RowsLeft, CountsProductsOfOtherShapesAfterEachOther) {
  RowsLeft left;
  for (const int64_t rows : {10, 10, 4, 12, 12}) {
    for (const int64_t n_parts : {3, 3, 5, 1}) {
      left.begin(n_parts, rows);
      std::vector<int64_t> whole;
      for (int64_t row = 0; row < n_parts * rows; ++row) {
        ASSERT_EQ(static_cast<int64_t>(whole.size()), row / rows);
        left.made(row, row + 1, rows, [&](int64_t part) { whole.push_back(part); });
      }
      ASSERT_EQ(static_cast<int64_t>(whole.size()), n_parts);
      left.end();
    }
  }
}

// What a part is gone on with has been written by several threads, without atomics.
TEST(RowsLeft, WhoGoesOnSeesWhatAllHaveMade) {
  constexpr int64_t kParts = 50, kRows = 64, kThreads = 4;
  RowsLeft left;
  for (int product = 0; product < 20; ++product) {
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
    EXPECT_EQ(sums, std::vector<int>(kParts, kRows)) << "product " << product;
    left.end();
  }
}

}  // namespace
}  // namespace inferno::backend
