#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <vector>

#include "ops/op_case.h"
#include "support/canary.h"
#include "support/random.h"

namespace inferno::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kMax = std::numeric_limits<float>::max();
constexpr float kTiny = std::numeric_limits<float>::denorm_min();

class ArgmaxTest : public OpTest {
 protected:
  std::vector<kernels::Argmax> argmax(const std::vector<float>& x, int64_t n) {
    Guarded<kernels::Argmax> y(n);
    ops().argmax({x.data(), y.data(), n, static_cast<int64_t>(x.size()) / n});
    y.expect_canaries_alive();
    return y.values();
  }
  // Of one row.
  void expect(const std::vector<float>& x, int32_t index) {
    const kernels::Argmax found = argmax(x, 1)[0];
    EXPECT_EQ(found.index, index) << testing::PrintToString(x);
    const float value = x[static_cast<size_t>(index)];
    EXPECT_EQ(std::bit_cast<uint32_t>(found.value), std::bit_cast<uint32_t>(value)) << found.value;
  }
};

TEST_P(ArgmaxTest, OfEqualsTheFirst) {
  expect({3}, 0);
  expect({1, 5, 5, 2, 5}, 1);
  expect({-3, -1, -2, -1}, 1);
  expect({-0.0f, 0.0f}, 0);
  expect({0.0f, -0.0f}, 0);
  expect({-1, -0.0f, 0.0f}, 1);
  expect({-kTiny, kTiny, 0}, 1);
  expect({-kMax, kMax, -kMax, kMax}, 1);
}

TEST_P(ArgmaxTest, MinusInfinityOnlyWhereAllAre) {
  expect({-kInf, -kInf, -kInf}, 0);
  expect({-kInf, -kMax, -kInf}, 1);
  expect(std::vector<float>(5000, -kInf), 0);
}

TEST_P(ArgmaxTest, TheFirstThatIsNoNumberStandsForTheRow) {
  expect({1, kInf, kNan}, 1);
  expect({1, kNan, kInf, 7}, 1);
  expect({kMax, -kNan}, 1);
  expect({-kInf, kNan, -kInf}, 1);
  expect({kNan, kMax}, 0);
}

// On both sides of what a vector, a block of threads and its part of a row hold, each row by itself.
TEST_P(ArgmaxTest, WhereverItStands) {
  Random random(21);
  for (const int64_t dim : {1, 31, 33, 255, 257, 2047, 2048, 2049, 5003}) {
    constexpr int64_t kRows = 5;
    std::vector<float> x = random.floats(kRows * dim);
    std::vector<int64_t> at;
    for (int64_t row = 0; row < kRows; ++row) {
      at.push_back(row == 0 ? 0 : row == 1 ? dim - 1 : random.below(dim));
      // Its equals come after it, in the other rows nothing is any better than it.
      for (int64_t i = at.back(); i < dim; i += 1 + random.below(dim))
        x[static_cast<size_t>(row * dim + i)] = 2.0f;
    }
    // The last row's stands before a NaN.
    x[static_cast<size_t>((kRows - 1) * dim + at.back())] = kInf;
    x.back() = at.back() == dim - 1 ? kInf : kNan;
    const std::vector<kernels::Argmax> found = argmax(x, kRows);
    for (int64_t row = 0; row < kRows; ++row) {
      const auto r = static_cast<size_t>(row);
      EXPECT_EQ(found[r].index, at[r]) << "row " << row << " of " << dim;
      EXPECT_EQ(found[r].value, row + 1 < kRows ? 2.0f : kInf) << "row " << row << " of " << dim;
    }
  }
}

INFERNO_FOR_EACH_OP_SET(ArgmaxTest);

}  // namespace
}  // namespace inferno::test
