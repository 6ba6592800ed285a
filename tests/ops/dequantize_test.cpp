// Every format against format_oracle.h. Equality is exact: a product of an F16 scale (11 bits), a 6-bit scale
// and a code fits in a float, and where a minimum is subtracted the float result is the true value rounded
// once, as is the oracle's double (exact, 50 bits at most) when it is converted to float.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "kernels/reference/reference.h"
#include "ops/format_oracle.h"
#include "support/canary.h"

namespace inferno::test {
namespace {

class DequantizeTest : public testing::TestWithParam<DType> {
 protected:
  // Checks all elements of the blocks in `bytes`.
  void expect_exact(const std::vector<uint8_t>& bytes) {
    const DTypeTraits& t = traits(GetParam());
    const int64_t n = static_cast<int64_t>(bytes.size() / t.block_bytes * t.block_elems);
    Guarded<float> y(n);
    kernels::reference::dequantize(GetParam(), bytes.data(), y.data(), n);
    y.expect_canaries_alive();
    for (int64_t i = 0; i < n; ++i) {
      const float expected = static_cast<float>(row_element(GetParam(), bytes.data(), i));
      const float found = y.data()[i];
      if (std::isnan(expected) && std::isnan(found)) continue;
      ASSERT_EQ(found, expected) << "block " << i / t.block_elems << ", element " << i % t.block_elems;
    }
  }
};

class DequantizeScaleBytesTest : public DequantizeTest {};
class DequantizeF16ScaleTest : public DequantizeTest {};

struct ByteRange {
  int begin, end;
};

// The bytes of a block that hold packed scales.
ByteRange scale_bytes(DType dtype) {
  switch (dtype) {
    case DType::kQ2_K:
      return {0, 16};
    case DType::kQ3_K:
      return {96, 108};
    case DType::kQ4_K:
    case DType::kQ5_K:
      return {4, 16};
    case DType::kQ6_K:
      return {192, 208};
    case DType::kIQ4_XS:
      return {2, 8};
    case DType::kMXFP4:
      return {0, 1};
    default:
      return {0, 0};
  }
}

TEST_P(DequantizeTest, RandomBlocks) {
  Random random(static_cast<uint64_t>(GetParam()));
  expect_exact(random_weights(GetParam(), 200 * int64_t{traits(GetParam()).block_elems}, random));
}

TEST_P(DequantizeScaleBytesTest, EveryValueOfEach) {
  const ByteRange range = scale_bytes(GetParam());
  const uint32_t block_bytes = traits(GetParam()).block_bytes;
  Random random(1);
  for (int at = range.begin; at < range.end; ++at) {
    SCOPED_TRACE("byte " + std::to_string(at));
    std::vector<uint8_t> blocks =
        random_weights(GetParam(), 256 * int64_t{traits(GetParam()).block_elems}, random);
    for (size_t value = 0; value < 256; ++value) {
      blocks[value * block_bytes + static_cast<size_t>(at)] = static_cast<uint8_t>(value);
    }
    expect_exact(blocks);
  }
}

TEST_P(DequantizeF16ScaleTest, SpecialValues) {
  // Zeros, the smallest and largest subnormals and normals, ones, infinities, NaNs.
  const std::vector<unsigned> specials = {0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x83ff,
                                          0x0400, 0x8400, 0x3c00, 0xbc00, 0x7bff, 0xfbff,
                                          0x7c00, 0xfc00, 0x7c01, 0x7e00, 0xffff};
  const std::vector<int> fields = f16_fields(GetParam());
  Random random(2);
  for (const int field : fields) {
    for (const unsigned special : specials) {
      SCOPED_TRACE("F16 field at byte " + std::to_string(field) + " = " + std::to_string(special));
      std::vector<uint8_t> block = random_weights(GetParam(), traits(GetParam()).block_elems, random);
      put_u16(block.data() + field, special);
      expect_exact(block);
    }
  }
}

TEST_P(DequantizeTest, NothingIsWrittenForNoElements) {
  Guarded<float> y(0);
  kernels::reference::dequantize(GetParam(), nullptr, y.data(), 0);
  y.expect_canaries_alive();
}

bool has_scale_bytes(DType dtype) {
  return scale_bytes(dtype).end != 0;
}

bool has_f16_fields(DType dtype) {
  return !f16_fields(dtype).empty();
}

std::vector<DType> types_with(bool (*property)(DType)) {
  std::vector<DType> types;
  for (const DType dtype : weight_types()) {
    if (property(dtype)) types.push_back(dtype);
  }
  return types;
}

std::string test_name(const testing::TestParamInfo<DType>& tested) {
  return std::string(name(tested.param));
}

INSTANTIATE_TEST_SUITE_P(Formats, DequantizeTest, testing::ValuesIn(weight_types()), test_name);
INSTANTIATE_TEST_SUITE_P(Formats, DequantizeScaleBytesTest, testing::ValuesIn(types_with(has_scale_bytes)),
                         test_name);
INSTANTIATE_TEST_SUITE_P(Formats, DequantizeF16ScaleTest, testing::ValuesIn(types_with(has_f16_fields)),
                         test_name);

TEST(DequantizePlain, EveryHalf) {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    std::vector<uint16_t> x(65536);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<uint16_t>(i);
    std::vector<float> y(x.size());
    kernels::reference::dequantize(dtype, x.data(), y.data(), 65536);
    for (unsigned i = 0; i < 65536; ++i) {
      const double expected = dtype == DType::kF16 ? f16_value(i) : bf16_value(i);
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(y[i])) << i;
      } else {
        ASSERT_EQ(y[i], expected) << i;
        ASSERT_EQ(std::signbit(y[i]), (i & 0x8000) != 0) << i;
      }
    }
  }
}

TEST(DequantizePlain, F32KeepsItsBits) {
  const std::vector<float> x = {0.0f, -0.0f, 1.5f, 0x1p-149f, -0x1.fffffep127f, INFINITY, NAN};
  std::vector<float> y(x.size());
  kernels::reference::dequantize(DType::kF32, x.data(), y.data(), static_cast<int64_t>(x.size()));
  EXPECT_TRUE(same_bits(x, y));
}

TEST(DequantizePlain, F64RoundsToNearest) {
  const std::vector<double> x = {
      1.0 + 0x1p-24, 1.0 + 0x1.8p-23, 1.0 + 0x1.000001p-24, -0.1, 0x1p-150, 0x1.8p-150, 1e300};
  const std::vector<float> expected = {1.0f, 1.0f + 0x1p-22f, 1.0f + 0x1p-23f, -0.1f,
                                       0.0f, 0x1p-149f,       INFINITY};
  std::vector<float> y(x.size());
  kernels::reference::dequantize(DType::kF64, x.data(), y.data(), static_cast<int64_t>(x.size()));
  EXPECT_EQ(y, expected);
}

TEST(Dequantize, IntegerTypesAreNoWeights) {
  for (const DType dtype : {DType::kI8, DType::kI16, DType::kI32, DType::kI64}) {
    EXPECT_EQ(kernels::reference::find_dequantize(dtype), nullptr) << name(dtype);
  }
  EXPECT_EQ(weight_types().size(), 18u);
  for (const DType dtype : weight_types()) {
    EXPECT_NE(kernels::reference::find_dequantize(dtype), nullptr) << name(dtype);
  }
}

}  // namespace
}  // namespace inferno::test
