// The quantizers, judged by what kernels/reference reads back.
#include "quantize/quantize_row.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "gguf/file.h"
#include "kernels/reference/reference.h"
#include "support/random.h"
#include "support/shared_data.h"
#include "tensor/half.h"

namespace inferno::test {
namespace {

std::vector<float> read_back(DType dtype, const std::vector<float>& x) {
  // Of ones, so that what a quantizer leaves as it was shows.
  std::vector<std::byte> blocks(row_bytes(dtype, x.size()), std::byte{0xff});
  std::vector<float> y(x.size());
  quantize::find_quantize(dtype)(x.data(), blocks.data(), static_cast<int64_t>(x.size()));
  kernels::reference::dequantize(dtype, blocks.data(), y.data(), static_cast<int64_t>(x.size()));
  return y;
}

double squared_error(std::span<const float> y, std::span<const float> x) {
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) sum += (double{y[i]} - double{x[i]}) * (double{y[i]} - double{x[i]});
  return sum;
}

// Box and Muller 1958.
std::vector<float> gaussian(size_t n, uint64_t seed) {
  Random random(seed);
  std::vector<float> values(n);
  for (float& value : values) {
    const double radius = std::sqrt(-2 * std::log(1 - random.uniform(0, 1)));
    value = static_cast<float>(radius * std::cos(2 * std::numbers::pi * random.uniform(0, 1)));
  }
  return values;
}

// A format with blocks: what it can say.
struct Format {
  DType dtype;
  int n_codes;                        // of an element
  int group;                          // elements that share a scale
  bool has_offset;                    // the scale's codes need not lie around 0
  std::vector<int> codes = {};        // as factors of the scale; the first and the last reach farthest
  int n_groups = 1;                   // in a block
  int scale_low = 1, scale_high = 1;  // of a group, in units of the block's; the first is the largest in size
  int min_high = 0;
};

std::vector<int> range(int low, int high) {
  std::vector<int> numbers;
  for (int i = low; i <= high; ++i) numbers.push_back(i);
  return numbers;
}

std::vector<Format> formats() {
  const std::vector<int> iq4 = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
  return {
      {DType::kQ4_0, 16, 32, false, range(-8, 7)},
      {DType::kQ5_0, 32, 32, false, range(-16, 15)},
      {DType::kQ8_0, 255, 32, false, range(-127, 127)},
      {DType::kQ4_1, 16, 32, true, range(0, 15)},
      {DType::kQ5_1, 32, 32, true, range(0, 31)},
      {DType::kIQ4_NL, 16, 32, false, iq4},
      {DType::kQ2_K, 4, 16, true, range(0, 3), 16, 15, 1, 15},
      {DType::kQ4_K, 16, 32, true, range(0, 15), 8, 63, 1, 63},
      {DType::kQ5_K, 32, 32, true, range(0, 31), 8, 63, 1, 63},
      {DType::kQ3_K, 8, 16, false, range(-4, 3), 16, -32, 31},
      {DType::kQ6_K, 64, 16, false, range(-32, 31), 16, -128, 127},
      {DType::kIQ4_XS, 16, 32, false, iq4, 8, -32, 31},
  };
}

class QuantizeRow : public testing::TestWithParam<Format> {};

// Codes that divide a group's range evenly leave errors uniform over a step, of mean square step^2 / 12. That
// is within reach of every search (the error of scales of 6 bits is less than what cutting off saves), and
// nothing random is below it by luck: 25,600 values.
TEST_P(QuantizeRow, ErrsLessThanAnEvenStepOnGaussianRows) {
  const Format& format = GetParam();
  const std::vector<float> x = gaussian(25600, 1);
  double bound = 0;
  for (size_t begin = 0; begin < x.size(); begin += static_cast<size_t>(format.group)) {
    float low = 0, high = 0;
    for (size_t i = begin; i < begin + static_cast<size_t>(format.group); ++i) {
      low = std::min(low, x[i]);
      high = std::max(high, x[i]);
    }
    const double span = format.has_offset ? high - low : 2 * std::max(high, -low);
    const double step = span / (format.n_codes - 1);
    bound += format.group * step * step / 12;
  }
  if (format.dtype == DType::kQ8_0) bound *= 1.01;  // takes that very step: no less on average
  const double error = squared_error(read_back(format.dtype, x), x);
  EXPECT_LT(error, bound);
  EXPECT_GT(error, bound / 3) << "better than the format can be";
}

// Blocks as a quantizer makes them: each group reaches the ends of its codes, one group the end of the
// scales.
std::vector<float> representable(const Format& format, uint64_t seed) {
  Random random(seed);
  const float d = f16_to_f32(f32_to_f16(static_cast<float>(random.uniform(0.01, 0.02))));
  const float dmin = f16_to_f32(f32_to_f16(static_cast<float>(random.uniform(0.01, 0.02))));
  std::vector<float> values;
  for (int g = 0; g < format.n_groups; ++g) {
    const int low = std::min(format.scale_low, format.scale_high),
              high = std::max(format.scale_low, format.scale_high);
    // Not far from the largest, so that a group is worth its scale.
    const int scale = g == 0 ? format.scale_low : low + static_cast<int>(random.below(high - low + 1));
    const int min = g == 0 ? format.min_high : static_cast<int>(random.below(format.min_high + 1));
    const float offset = format.n_groups > 1 ? dmin * static_cast<float>(min) : format.has_offset ? dmin : 0;
    for (int i = 0; i < format.group; ++i) {
      size_t code = static_cast<size_t>(random.below(static_cast<int64_t>(format.codes.size())));
      if (i == 0) code = 0;
      if (i == 1) code = format.codes.size() - 1;
      values.push_back(d * static_cast<float>(scale) * static_cast<float>(format.codes[code]) - offset);
    }
  }
  return values;
}

TEST_P(QuantizeRow, ReturnsWhatItCanSayExactly) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const std::vector<float> x = representable(GetParam(), seed);
    EXPECT_EQ(read_back(GetParam().dtype, x), x) << seed;
  }
}

TEST_P(QuantizeRow, ZerosStayZeros) {
  const std::vector<float> zeros(512, 0.0f);
  EXPECT_EQ(read_back(GetParam().dtype, zeros), zeros);
}

TEST_P(QuantizeRow, ConstantRowsAndOutliersAreSaidWell) {
  for (const float value : {1.0f, -1.0f, 0.01f, -60000.0f}) {
    const std::vector<float> constant(256, value);
    for (const float y : read_back(GetParam().dtype, constant))
      EXPECT_NEAR(y, value, std::fabs(value) * 0.01f);
    std::vector<float> outlier(256, value / 1000);
    outlier[77] = value;
    EXPECT_NEAR(read_back(GetParam().dtype, outlier)[77], value, std::fabs(value) * 0.06f);
  }
  for (const float y : read_back(GetParam().dtype, std::vector<float>(256, 1e-30f))) EXPECT_NEAR(y, 0, 1e-7f);
}

INSTANTIATE_TEST_SUITE_P(Formats, QuantizeRow, testing::ValuesIn(formats()),
                         [](const auto& test) { return std::string(name(test.param.dtype)); });

// Far below what any scale can say: zeros, or nearly, and nothing undefined.
TEST_P(QuantizeRow, TheSmallestFloatsStaySmall) {
  for (const float tiny : {1e-45f, 1e-40f, 1e-38f, 3e-37f, 1e-30f}) {
    const std::vector<float> x(256, tiny);
    for (const float value : read_back(GetParam().dtype, x)) EXPECT_LE(std::fabs(value), 1e-6f) << tiny;
  }
}

TEST(QuantizeRow, Mxfp4SaysTheSmallestFloatsToo) {
  for (const float tiny : {1e-45f, 1e-40f, 1e-38f}) {
    const std::vector<float> x(32, tiny);
    for (const float value : read_back(DType::kMXFP4, x))
      EXPECT_LE(std::fabs(value), 2 * tiny + 1e-38f) << tiny;
  }
}

TEST(QuantizeRow, SixteenBitFloatsRoundToNearest) {
  const std::vector<float> x = gaussian(1000, 2);
  EXPECT_EQ(read_back(DType::kF32, x), x);
  const std::vector<float> f16 = read_back(DType::kF16, x), bf16 = read_back(DType::kBF16, x);
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_LE(std::fabs(f16[i] - x[i]), std::fabs(x[i]) * 0x1p-11f + 0x1p-25f);
    EXPECT_LE(std::fabs(bf16[i] - x[i]), std::fabs(x[i]) * 0x1p-8f);
  }
}

// Codes between 2^k and 2^(k+1) are 2^k / 2 apart or nearer, so errors there have a mean square of at most
// 1/48 of the value's; those below the least normal code weigh little.
TEST(QuantizeRow, Mxfp4ErrsLessThanHalfAPowerOfTwo) {
  const std::vector<float> x = gaussian(25600, 3);
  const double power = squared_error(x, std::vector<float>(x.size()));
  EXPECT_LT(squared_error(read_back(DType::kMXFP4, x), x), power / 48);

  const std::vector<float> magnitudes = {0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f};
  Random random(4);
  for (const float scale : {0x1p-20f, 1.0f, 0x1p9f}) {
    std::vector<float> exact;
    for (size_t i = 0; i < 64; ++i) {
      const float magnitude = i % 32 == 0 ? 6.0f : magnitudes[static_cast<size_t>(random.below(8))];
      exact.push_back(magnitude == 0 || random.below(2) == 0 ? magnitude * scale : -magnitude * scale);
    }
    EXPECT_EQ(read_back(DType::kMXFP4, exact), exact);
  }
  const std::vector<float> zeros(64, 0.0f);
  EXPECT_EQ(read_back(DType::kMXFP4, zeros), zeros);
}

TEST(QuantizeRow, WhatIsNotWrittenHasNoFunction) {
  for (const DType dtype : {DType::kF64, DType::kQ8_K, DType::kI32}) {
    EXPECT_EQ(quantize::find_quantize(dtype), nullptr);
  }
}

// Files of one F32 model that the usual tool made, one format each.
struct Peer {
  DType dtype;
  const char* file;
};
class QuantizeRowAgainstPeer : public testing::TestWithParam<Peer> {};

TEST_P(QuantizeRowAgainstPeer, IsNoWorse) {
  const auto path = [](const std::string& name) {
    return shared_data("golden/tiny-qwen3-" + name + ".gguf");
  };
  REQUIRE_SHARED_DATA(path("f32"));
  REQUIRE_SHARED_DATA(path(GetParam().file));
  const auto original = gguf::File::open(path("f32")), peer = gguf::File::open(path(GetParam().file));
  ASSERT_TRUE(original.ok() && peer.ok());
  double ours = 0, theirs = 0;
  int n_tensors = 0;
  for (const gguf::TensorInfo& info : peer->tensors()) {
    if (info.tensor.dtype != GetParam().dtype) continue;
    const Tensor& source = original->find_tensor(info.name)->tensor;
    const auto n = static_cast<size_t>(source.n_elements());
    const std::vector<float> x(source.as<float>(), source.as<float>() + n);
    std::vector<float> y(n);
    kernels::reference::dequantize(info.tensor.dtype, info.tensor.data, y.data(), static_cast<int64_t>(n));
    theirs += squared_error(y, x);
    ours += squared_error(read_back(info.tensor.dtype, x), x);
    ++n_tensors;
  }
  EXPECT_GT(n_tensors, 10);
  EXPECT_LE(ours, theirs);
}

INSTANTIATE_TEST_SUITE_P(Formats, QuantizeRowAgainstPeer,
                         testing::Values(Peer{DType::kF16, "f16"}, Peer{DType::kBF16, "bf16"},
                                         Peer{DType::kQ8_0, "q8_0"}, Peer{DType::kQ4_0, "q4_0"},
                                         Peer{DType::kQ4_1, "q4_1"}, Peer{DType::kQ5_0, "q5_0"},
                                         Peer{DType::kQ5_1, "q5_1"}, Peer{DType::kQ2_K, "q2_k"},
                                         Peer{DType::kQ3_K, "q3_k_m"}, Peer{DType::kQ4_K, "q4_k_m"},
                                         Peer{DType::kQ5_K, "q5_k_m"}, Peer{DType::kQ6_K, "q6_k"},
                                         Peer{DType::kIQ4_NL, "iq4_nl"}, Peer{DType::kIQ4_XS, "iq4_xs"},
                                         Peer{DType::kMXFP4, "mxfp4_moe"}),
                         [](const auto& test) { return std::string(name(test.param.dtype)); });

}  // namespace
}  // namespace inferno::test
