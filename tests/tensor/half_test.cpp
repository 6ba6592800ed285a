#include "tensor/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace inferno {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

// The value of a 16-bit float with so many exponent and mantissa bits, from the definition in IEEE 754.
double slow_value(uint16_t bits, int exponent_bits, int mantissa_bits) {
  const int sign = bits >> 15;
  const int exponent = (bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const int mantissa = bits & ((1 << mantissa_bits) - 1);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  double magnitude = 0;
  if (exponent == (1 << exponent_bits) - 1) {
    magnitude =
        mantissa == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0) {
    magnitude = std::ldexp(mantissa, 1 - bias - mantissa_bits);
  } else {
    magnitude = std::ldexp((1 << mantissa_bits) + mantissa, exponent - bias - mantissa_bits);
  }
  return std::copysign(magnitude, sign == 0 ? 1.0 : -1.0);
}

struct Format {
  const char* name;
  int exponent_bits;
  int mantissa_bits;
  float (*widen)(uint16_t);
  uint16_t (*narrow)(float);
};
const Format kF16{"f16", 5, 10, f16_to_f32, f32_to_f16};
const Format kBF16{"bf16", 8, 7, bf16_to_f32, f32_to_bf16};

class Half : public testing::TestWithParam<Format> {};

TEST_P(Half, WidensEveryValueExactly) {
  const Format& format = GetParam();
  for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const double expected = slow_value(half, format.exponent_bits, format.mantissa_bits);
    const float found = format.widen(half);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(found)) << bits;
    } else {
      ASSERT_EQ(float_to_bits(found), float_to_bits(static_cast<float>(expected))) << bits;
    }
  }
}

TEST_P(Half, NarrowsEveryWidenedValueBack) {
  const Format& format = GetParam();
  for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const float value = format.widen(half);
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(format.widen(format.narrow(value)))) << bits;
      ASSERT_EQ(format.narrow(value) >> 15, half >> 15) << bits;
    } else {
      ASSERT_EQ(format.narrow(value), half) << bits;
    }
  }
}

// Between each pair of neighbours a, b: the middle goes to the even one, all else to the nearer one.
TEST_P(Half, RoundsToTheNearestAndTiesToEven) {
  const Format& format = GetParam();
  const auto infinity = static_cast<uint32_t>(((1 << format.exponent_bits) - 1) << format.mantissa_bits);
  for (uint32_t bits = 0; bits < infinity; ++bits) {
    const auto below = static_cast<uint16_t>(bits);
    const auto above = static_cast<uint16_t>(bits + 1);
    const double a = slow_value(below, format.exponent_bits, format.mantissa_bits);
    // One step beyond the largest finite value stands where the next exponent would begin.
    const double b = above == infinity ? std::ldexp(1.0, 1 << (format.exponent_bits - 1))
                                       : slow_value(above, format.exponent_bits, format.mantissa_bits);
    const auto middle = static_cast<float>((a + b) / 2);  // one more mantissa bit: exact in a float
    ASSERT_EQ(static_cast<double>(middle), (a + b) / 2);
    const uint16_t even = bits % 2 == 0 ? below : above;
    const uint16_t sign = 0x8000;
    ASSERT_EQ(format.narrow(middle), even) << bits;
    ASSERT_EQ(format.narrow(-middle), even | sign) << bits;
    ASSERT_EQ(format.narrow(std::nextafter(middle, -kInf)), below) << bits;
    ASSERT_EQ(format.narrow(std::nextafter(middle, kInf)), above) << bits;
    ASSERT_EQ(format.narrow(-std::nextafter(middle, kInf)), above | sign) << bits;
  }
}

TEST_P(Half, SpecialValues) {
  const Format& format = GetParam();
  const auto infinity = static_cast<uint16_t>(((1 << format.exponent_bits) - 1) << format.mantissa_bits);
  EXPECT_EQ(format.narrow(0.0f), 0x0000);
  EXPECT_EQ(format.narrow(-0.0f), 0x8000);
  EXPECT_EQ(format.narrow(kInf), infinity);
  EXPECT_EQ(format.narrow(-kInf), infinity | 0x8000);
  EXPECT_EQ(format.narrow(std::numeric_limits<float>::max()), infinity);
  EXPECT_EQ(format.narrow(std::numeric_limits<float>::denorm_min()), 0);
  // NaNs whose payload lies only in the bits that are cut off, or fills all of them.
  for (const uint32_t bits : {0x7f800001u, 0xff800001u, 0x7fffffffu, 0xffffffffu, 0x7fc00000u}) {
    EXPECT_TRUE(std::isnan(format.widen(format.narrow(bits_to_float(bits))))) << bits;
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, Half, testing::Values(kF16, kBF16),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(HalfF16, OverflowStartsHalfAStepAboveTheLargest) {
  EXPECT_EQ(f32_to_f16(65504.0f), 0x7bff);
  EXPECT_EQ(f32_to_f16(65519.996f), 0x7bff);
  EXPECT_EQ(f32_to_f16(65520.0f), 0x7c00);
  EXPECT_EQ(f32_to_f16(-1e30f), 0xfc00);
}

TEST(HalfF16, SubnormalsRoundToEven) {
  EXPECT_EQ(f32_to_f16(0x1p-24f), 0x0001);
  EXPECT_EQ(f32_to_f16(0x1p-25f), 0x0000);
  EXPECT_EQ(f32_to_f16(0x1.000002p-25f), 0x0001);
  EXPECT_EQ(f32_to_f16(0x1.8p-24f), 0x0002);
  EXPECT_EQ(f32_to_f16(0x1.ffep-15f), 0x0400);  // the tie below the smallest normal number
}

TEST(HalfE8M0, IsAPowerOfTwo) {
  for (int e = 0; e < 255; ++e) {
    EXPECT_EQ(static_cast<double>(e8m0_to_f32(static_cast<uint8_t>(e))), std::ldexp(1.0, e - 127)) << e;
  }
  EXPECT_TRUE(std::isnan(e8m0_to_f32(255)));
}

}  // namespace
}  // namespace inferno
