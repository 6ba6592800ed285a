#include "model/synthetic_weights.h"

#include <array>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "kernels/reference/codebook_iq4.h"
#include "tensor/half.h"
#include "tensor/quant_blocks.h"

namespace inferno::model {
namespace {

// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", OOPSLA 2014), whose n-th
// number can be had without those before it.
constexpr uint64_t kGamma = 0x9e3779b97f4a7c15;

uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

uint64_t random_word(uint64_t key, uint64_t index) {
  return mix(key + (index + 1) * kGamma);
}

// In [-1, 1).
double signed_unit(uint64_t word) {
  return static_cast<double>(static_cast<int64_t>(word) >> 11) * 0x1p-52;
}

// The mean of (q - centre)^2 over all codes q of so many bits.
constexpr double mean_square(int bits, double centre) {
  const double n = 1 << bits;
  const double mean = (n - 1) / 2;
  return (n * n - 1) / 12 + (mean - centre) * (mean - centre);
}

double codebook_mean_square() {
  double sum = 0;
  for (const int value : kernels::reference::kCodebookIQ4) sum += value * value;
  return sum / 16;
}

// -128 has no counterpart and quantizers never make it; with two zeros instead the codes have mean 0.
constexpr double kSymmetricMeanSquare = 2 * (127.0 * 128 * 255 / 6) / 256;

template <size_t kSize>
void replace_minus_128(int8_t (&qs)[kSize]) {
  for (int8_t& q : qs) q = q == -128 ? int8_t{0} : q;
}

// For each format: the mean square of its weights when the block's scale is 1 and all else is random bits,
// and what must be set in such a block. Formats with minimums get ones that put the middle of their codes at
// 0.
double weight_mean_square(const BlockQ4_0&) {
  return mean_square(4, 8);
}
void set_scale(BlockQ4_0& block, float d) {
  block.d = f32_to_f16(d);
}

double weight_mean_square(const BlockQ4_1&) {
  return mean_square(4, 7.5);
}
void set_scale(BlockQ4_1& block, float d) {
  block.d = f32_to_f16(d);
  block.m = f32_to_f16(-7.5F * d);
}

double weight_mean_square(const BlockQ5_0&) {
  return mean_square(5, 16);
}
void set_scale(BlockQ5_0& block, float d) {
  block.d = f32_to_f16(d);
}

double weight_mean_square(const BlockQ5_1&) {
  return mean_square(5, 15.5);
}
void set_scale(BlockQ5_1& block, float d) {
  block.d = f32_to_f16(d);
  block.m = f32_to_f16(-15.5F * d);
}

double weight_mean_square(const BlockQ8_0&) {
  return kSymmetricMeanSquare;
}
void set_scale(BlockQ8_0& block, float d) {
  block.d = f32_to_f16(d);
  replace_minus_128(block.qs);
}

double weight_mean_square(const BlockQ2_K&) {
  return mean_square(4, 0) * mean_square(2, 1.5);
}
void set_scale(BlockQ2_K& block, float d) {
  block.d = f32_to_f16(d);
  block.dmin = f32_to_f16(1.5F * d);
  for (uint8_t& scale : block.scales) scale = static_cast<uint8_t>((scale & 15) * 0x11);
}

double weight_mean_square(const BlockQ3_K&) {
  return mean_square(6, 32) * mean_square(3, 4);
}
void set_scale(BlockQ3_K& block, float d) {
  block.d = f32_to_f16(d);
}

// The packing of Q4_K and Q5_K, with each group's minimum equal to its scale.
void copy_scales_to_minimums(uint8_t (&scales)[12]) {
  for (size_t g = 0; g < 4; ++g) {
    scales[g + 4] = scales[g];
    scales[g + 8] = static_cast<uint8_t>((scales[g + 8] & 15) * 0x11);
  }
}

double weight_mean_square(const BlockQ4_K&) {
  return mean_square(6, 0) * mean_square(4, 7.5);
}
void set_scale(BlockQ4_K& block, float d) {
  block.d = f32_to_f16(d);
  block.dmin = f32_to_f16(7.5F * d);
  copy_scales_to_minimums(block.scales);
}

double weight_mean_square(const BlockQ5_K&) {
  return mean_square(6, 0) * mean_square(5, 15.5);
}
void set_scale(BlockQ5_K& block, float d) {
  block.d = f32_to_f16(d);
  block.dmin = f32_to_f16(15.5F * d);
  copy_scales_to_minimums(block.scales);
}

double weight_mean_square(const BlockQ6_K&) {
  return kSymmetricMeanSquare * mean_square(6, 32);
}
void set_scale(BlockQ6_K& block, float d) {
  block.d = f32_to_f16(d);
  replace_minus_128(block.scales);
}

double weight_mean_square(const BlockQ8_K&) {
  return kSymmetricMeanSquare;
}
void set_scale(BlockQ8_K& block, float d) {
  block.d = d;
  replace_minus_128(block.qs);
  for (size_t g = 0; g < 16; ++g) {
    int sum = 0;
    for (size_t i = 0; i < 16; ++i) sum += block.qs[16 * g + i];
    block.bsums[g] = static_cast<int16_t>(sum);
  }
}

double weight_mean_square(const BlockIQ4_NL&) {
  return codebook_mean_square();
}
void set_scale(BlockIQ4_NL& block, float d) {
  block.d = f32_to_f16(d);
}

double weight_mean_square(const BlockIQ4_XS&) {
  return codebook_mean_square() * mean_square(6, 32);
}
void set_scale(BlockIQ4_XS& block, float d) {
  block.d = f32_to_f16(d);
}

double weight_mean_square(const BlockMXFP4&) {
  return 2 * (0 + 0.25 + 1 + 2.25 + 4 + 9 + 16 + 36) / 16;
}
// Only powers of two are scales: one of the two around d, each as often as gives the mean of d^2.
void set_scale(BlockMXFP4& block, float d) {
  const int exponent = std::ilogb(d);
  const double ratio = std::ldexp(std::fabs(d), -exponent);  // in [1, 2)
  const double low_share = (4 - ratio * ratio) / 3;
  const bool is_low = block.e < 256 * low_share;
  block.e = static_cast<uint8_t>(127 + exponent + (is_low ? 0 : 1));
}

// A scale's factor: its size from 3/4 to 5/4 (and then such that its mean square is 1), as the blocks of a
// real tensor differ; its sign random, so that a mean of the codes other than 0 does not add up along a row,
// which would drive all activations to one direction.
float scale_jitter(uint64_t word) {
  constexpr double kSpread = 0.25;
  const double size = 1 + kSpread * signed_unit(word << 1);
  const double rms = std::sqrt(1 + kSpread * kSpread / 3);
  return static_cast<float>((word >> 63 != 0 ? -size : size) / rms);
}

template <class Block>
void draw_blocks(double sigma, uint64_t key, uint64_t first_block, std::span<std::byte> out) {
  constexpr size_t kWords = (sizeof(Block) + 7) / 8 + 1;  // the last one for the scale
  const auto scale = static_cast<float>(sigma / std::sqrt(weight_mean_square(Block{})));
  for (size_t at = 0; at < out.size(); at += sizeof(Block)) {
    const uint64_t first_word = (first_block + at / sizeof(Block)) * kWords;
    std::array<uint64_t, kWords> words;
    for (size_t i = 0; i < kWords; ++i) words[i] = random_word(key, first_word + i);
    Block block;
    std::memcpy(&block, words.data(), sizeof block);
    set_scale(block, scale * scale_jitter(words.back()));
    std::memcpy(out.data() + at, &block, sizeof block);
  }
}

float as_f32(double value) {
  return static_cast<float>(value);
}
double as_f64(double value) {
  return value;
}
uint16_t as_f16(double value) {
  return f32_to_f16(static_cast<float>(value));
}
uint16_t as_bf16(double value) {
  return f32_to_bf16(static_cast<float>(value));
}

// Elements uniform between -spread and spread.
template <class Element, Element (*kConvert)(double)>
void draw_elements(double spread, uint64_t key, uint64_t first, std::span<std::byte> out) {
  for (size_t i = 0; i < out.size() / sizeof(Element); ++i) {
    const Element element = kConvert(spread * signed_unit(random_word(key, first + i)));
    std::memcpy(out.data() + i * sizeof element, &element, sizeof element);
  }
}

}  // namespace

uint64_t tensor_key(uint64_t seed, uint64_t tensor_index) {
  return random_word(random_word(seed, 0), tensor_index);
}

void draw_weights(DType dtype, double sigma, uint64_t key, uint64_t first_block, std::span<std::byte> out) {
  const double spread = sigma * std::sqrt(3.0);  // of a uniform distribution
  switch (dtype) {
    case DType::kF32:
      return draw_elements<float, as_f32>(spread, key, first_block, out);
    case DType::kF64:
      return draw_elements<double, as_f64>(spread, key, first_block, out);
    case DType::kF16:
      return draw_elements<uint16_t, as_f16>(spread, key, first_block, out);
    case DType::kBF16:
      return draw_elements<uint16_t, as_bf16>(spread, key, first_block, out);
    case DType::kQ4_0:
      return draw_blocks<BlockQ4_0>(sigma, key, first_block, out);
    case DType::kQ4_1:
      return draw_blocks<BlockQ4_1>(sigma, key, first_block, out);
    case DType::kQ5_0:
      return draw_blocks<BlockQ5_0>(sigma, key, first_block, out);
    case DType::kQ5_1:
      return draw_blocks<BlockQ5_1>(sigma, key, first_block, out);
    case DType::kQ8_0:
      return draw_blocks<BlockQ8_0>(sigma, key, first_block, out);
    case DType::kQ2_K:
      return draw_blocks<BlockQ2_K>(sigma, key, first_block, out);
    case DType::kQ3_K:
      return draw_blocks<BlockQ3_K>(sigma, key, first_block, out);
    case DType::kQ4_K:
      return draw_blocks<BlockQ4_K>(sigma, key, first_block, out);
    case DType::kQ5_K:
      return draw_blocks<BlockQ5_K>(sigma, key, first_block, out);
    case DType::kQ6_K:
      return draw_blocks<BlockQ6_K>(sigma, key, first_block, out);
    case DType::kQ8_K:
      return draw_blocks<BlockQ8_K>(sigma, key, first_block, out);
    case DType::kIQ4_NL:
      return draw_blocks<BlockIQ4_NL>(sigma, key, first_block, out);
    case DType::kIQ4_XS:
      return draw_blocks<BlockIQ4_XS>(sigma, key, first_block, out);
    case DType::kMXFP4:
      return draw_blocks<BlockMXFP4>(sigma, key, first_block, out);
    case DType::kI8:
    case DType::kI16:
    case DType::kI32:
    case DType::kI64:
      break;
  }
  CHECK(false, "{} is no weight type", name(dtype));
}

void draw_uniform(double low, double high, bool random_sign, uint64_t key, uint64_t first_element,
                  std::span<std::byte> out) {
  for (size_t i = 0; i < out.size() / sizeof(float); ++i) {
    const uint64_t word = random_word(key, first_element + i);
    const bool negative = random_sign && word % 2 != 0;  // a bit that the value does not use
    const double value = (low + high) / 2 + (high - low) / 2 * signed_unit(word);
    const auto element = static_cast<float>(negative ? -value : value);
    std::memcpy(out.data() + i * sizeof element, &element, sizeof element);
  }
}

}  // namespace inferno::model
