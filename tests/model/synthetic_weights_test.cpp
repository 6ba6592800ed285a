#include "model/synthetic_weights.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/reference/reference.h"

namespace inferno::test {
namespace {

constexpr size_t kRows = 256;
constexpr size_t kCols = 512;

std::vector<std::byte> drawn(DType dtype, uint64_t key, double sigma = 1 / std::sqrt(double{kCols})) {
  std::vector<std::byte> bytes(row_bytes(dtype, kRows * kCols));
  model::draw_weights(dtype, sigma, key, 0, bytes);
  return bytes;
}

std::vector<float> dequantized(DType dtype, const std::vector<std::byte>& bytes) {
  std::vector<float> values(kRows * kCols);
  kernels::reference::dequantize(dtype, bytes.data(), values.data(), static_cast<int64_t>(values.size()));
  return values;
}

class SyntheticWeights : public testing::TestWithParam<DTypeTraits> {};

TEST_P(SyntheticWeights, HaveRowsOfUnitVarianceAndMeanZero) {
  const std::vector<float> values = dequantized(GetParam().dtype, drawn(GetParam().dtype, 7));
  double sum = 0;
  double squares = 0;
  for (size_t r = 0; r < kRows; ++r) {
    double row = 0;
    for (size_t c = 0; c < kCols; ++c) {
      const double value = values[r * kCols + c];
      ASSERT_TRUE(std::isfinite(value));
      row += value * value;
      sum += value;
    }
    EXPECT_GT(row, 0.2) << r;
    EXPECT_LT(row, 3.0) << r;
    squares += row;
  }
  EXPECT_NEAR(squares / kRows, 1, 0.04);
  // In units of the standard deviation. A mean that all rows share would add up along each of them and push
  // all outputs into one direction.
  EXPECT_NEAR(sum / (kRows * kCols) * std::sqrt(double{kCols}), 0, 0.012);
}

TEST_P(SyntheticWeights, AreAFunctionOfKeyAndPlace) {
  const DTypeTraits& type = GetParam();
  const std::vector<std::byte> whole = drawn(type.dtype, 9);
  EXPECT_EQ(whole, drawn(type.dtype, 9));
  EXPECT_NE(whole, drawn(type.dtype, 10));
  const size_t first_block = 3 * kCols / type.block_elems;
  std::vector<std::byte> part(row_bytes(type.dtype, 2 * kCols));
  model::draw_weights(type.dtype, 1 / std::sqrt(double{kCols}), 9, first_block, part);
  EXPECT_TRUE(std::equal(part.begin(), part.end(),
                         whole.begin() + static_cast<std::ptrdiff_t>(first_block * type.block_bytes)));
}

// What the widest matrices have, where the scales of some formats are subnormal halves.
TEST_P(SyntheticWeights, KeepTheirVarianceWhereTheyAreSmall) {
  constexpr double kSigma = 0.008;
  double squares = 0;
  for (const double value : dequantized(GetParam().dtype, drawn(GetParam().dtype, 11, kSigma)))
    squares += value * value;
  EXPECT_NEAR(squares / (kRows * kCols) / (kSigma * kSigma), 1, 0.04);
}

std::vector<DTypeTraits> weight_types() {
  std::vector<DTypeTraits> types;
  for (const DTypeTraits& type : dtype_table()) {
    if (type.is_weight) types.push_back(type);
  }
  return types;
}

INSTANTIATE_TEST_SUITE_P(EveryType, SyntheticWeights, testing::ValuesIn(weight_types()),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(SyntheticUniform, IsWithinItsBoundsAndOfBothSignsWhenAsked) {
  std::vector<float> values(1000);
  model::draw_uniform(0.75, 1.25, false, 1, 0, std::as_writable_bytes(std::span(values)));
  for (const float value : values) EXPECT_TRUE(value >= 0.75F && value <= 1.25F) << value;
  model::draw_uniform(0.75, 1.25, true, 1, 0, std::as_writable_bytes(std::span(values)));
  int negative = 0;
  for (const float value : values) {
    EXPECT_TRUE(std::fabs(value) >= 0.75F && std::fabs(value) <= 1.25F) << value;
    negative += value < 0 ? 1 : 0;
  }
  EXPECT_NEAR(negative, 500, 80);
}

TEST(SyntheticKeys, DifferBySeedAndTensor) {
  EXPECT_NE(model::tensor_key(0, 0), model::tensor_key(0, 1));
  EXPECT_NE(model::tensor_key(0, 0), model::tensor_key(1, 0));
  EXPECT_NE(model::tensor_key(0, 1), model::tensor_key(1, 0));
}

}  // namespace
}  // namespace inferno::test
