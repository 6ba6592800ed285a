#include "base/checked_math.h"

#include <gtest/gtest.h>

namespace inferno {
namespace {

constexpr uint64_t kMax = UINT64_MAX;

TEST(CheckedMath, Adds) {
  EXPECT_EQ(checked_add(2, 3), 5u);
  EXPECT_EQ(checked_add(kMax - 1, 1), kMax);
  EXPECT_EQ(checked_add(kMax, 1), std::nullopt);
}

TEST(CheckedMath, Multiplies) {
  EXPECT_EQ(checked_mul(0, kMax), 0u);
  EXPECT_EQ(checked_mul(uint64_t{1} << 32, (uint64_t{1} << 32) - 1), kMax - 0xffffffffu);
  EXPECT_EQ(checked_mul(uint64_t{1} << 32, uint64_t{1} << 32), std::nullopt);
}

TEST(CheckedMath, AlignsUp) {
  EXPECT_EQ(checked_align_up(0, 32), 0u);
  EXPECT_EQ(checked_align_up(1, 32), 32u);
  EXPECT_EQ(checked_align_up(32, 32), 32u);
  EXPECT_EQ(checked_align_up(33, 24), 48u);  // not only powers of two
  EXPECT_EQ(checked_align_up(kMax - 31, 32), kMax - 31);
  EXPECT_EQ(checked_align_up(kMax - 30, 32), std::nullopt);
}

}  // namespace
}  // namespace inferno
