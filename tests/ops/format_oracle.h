// Each storage format once more, in double, straight from its definition: where every bit of element i lies.
// Shares no code with src/, so that a slip there cannot hide here. Besides, random weights with scales of a
// sane size.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "support/random.h"
#include "tensor/dtype.h"

namespace inferno::test {

inline int bits_at(const uint8_t* block, int64_t byte, int64_t bit, int width) {
  return block[byte] >> bit & ((1 << width) - 1);
}

inline double f16_value(unsigned bits) {
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  const int exponent = static_cast<int>(bits >> 10 & 31);
  const int mantissa = static_cast<int>(bits & 1023);
  if (exponent == 31 && mantissa != 0) return std::numeric_limits<double>::quiet_NaN();
  if (exponent == 31) return sign * std::numeric_limits<double>::infinity();
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(1024 + mantissa, exponent - 25);
}

inline double bf16_value(unsigned bits) {
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  const int exponent = static_cast<int>(bits >> 7 & 255);
  const int mantissa = static_cast<int>(bits & 127);
  if (exponent == 255 && mantissa != 0) return std::numeric_limits<double>::quiet_NaN();
  if (exponent == 255) return sign * std::numeric_limits<double>::infinity();
  if (exponent == 0) return sign * std::ldexp(mantissa, -133);
  return sign * std::ldexp(128 + mantissa, exponent - 134);
}

inline double f16_at(const uint8_t* block, int byte) {
  return f16_value(static_cast<unsigned>(block[byte] | block[byte + 1] << 8));
}

template <class T>
double plain_at(const uint8_t* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return static_cast<double>(value);
}

// Nibble of element i in the 32-element formats whose nibbles begin at byte `first`.
inline int nibble32(const uint8_t* block, int first, int i) {
  return bits_at(block, first + i % 16, i < 16 ? 0 : 4, 4);
}

// Code of element i in Q4_K and Q5_K, whose nibbles begin at byte `first`.
inline int nibble_k(const uint8_t* block, int first, int i) {
  return bits_at(block, first + i / 64 * 32 + i % 32, i % 64 < 32 ? 0 : 4, 4);
}

// Two bits of element i in the formats of 128 elements per 32 bytes.
inline int pair_k(const uint8_t* block, int first, int i) {
  return bits_at(block, first + i / 128 * 32 + i % 32, i % 128 / 32 * 2, 2);
}

// Scale and minimum of Q4_K and Q5_K: twelve bytes from byte 4 on.
inline int scale_k(const uint8_t* block, int group) {
  return group < 4 ? bits_at(block, 4 + group, 0, 6)
                   : bits_at(block, 8 + group, 0, 4) + 16 * bits_at(block, group, 6, 2);
}
inline int min_k(const uint8_t* block, int group) {
  return group < 4 ? bits_at(block, 8 + group, 0, 6)
                   : bits_at(block, 8 + group, 4, 4) + 16 * bits_at(block, 4 + group, 6, 2);
}

inline double iq4_value(int code) {
  static const int kValues[] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
  return kValues[code];
}

inline double e2m1_value(int code) {
  const int exponent = code >> 1 & 3;
  const int mantissa = code & 1;
  const double magnitude = exponent == 0 ? mantissa * 0.5 : std::ldexp(2 + mantissa, exponent - 2);
  return (code & 8) != 0 ? -magnitude : magnitude;
}

// Element i of a block (of a plain type: the one element at `b`).
inline double block_element(DType dtype, const uint8_t* b, int i) {
  switch (dtype) {
    case DType::kF32:
      return plain_at<float>(b);
    case DType::kF64:
      return plain_at<double>(b);
    case DType::kF16:
      return f16_at(b, 0);
    case DType::kBF16:
      return bf16_value(static_cast<unsigned>(b[0] | b[1] << 8));
    case DType::kQ4_0:
      return f16_at(b, 0) * (nibble32(b, 2, i) - 8);
    case DType::kQ4_1:
      return f16_at(b, 0) * nibble32(b, 4, i) + f16_at(b, 2);
    case DType::kQ5_0:
      return f16_at(b, 0) * (nibble32(b, 6, i) + 16 * bits_at(b, 2 + i / 8, i % 8, 1) - 16);
    case DType::kQ5_1:
      return f16_at(b, 0) * (nibble32(b, 8, i) + 16 * bits_at(b, 4 + i / 8, i % 8, 1)) + f16_at(b, 2);
    case DType::kQ8_0:
      return f16_at(b, 0) * plain_at<int8_t>(b + 2 + i);
    case DType::kQ2_K:
      return f16_at(b, 80) * bits_at(b, i / 16, 0, 4) * pair_k(b, 16, i) -
             f16_at(b, 82) * bits_at(b, i / 16, 4, 4);
    case DType::kQ3_K: {
      const int g = i / 16;
      const int scale = bits_at(b, 96 + g % 8, g < 8 ? 0 : 4, 4) + 16 * bits_at(b, 104 + g % 4, g / 4 * 2, 2);
      return f16_at(b, 108) * (scale - 32) * (pair_k(b, 32, i) + 4 * bits_at(b, i % 32, i / 32, 1) - 4);
    }
    case DType::kQ4_K:
      return f16_at(b, 0) * scale_k(b, i / 32) * nibble_k(b, 16, i) - f16_at(b, 2) * min_k(b, i / 32);
    case DType::kQ5_K: {
      const int code = nibble_k(b, 48, i) + 16 * bits_at(b, 16 + i % 32, i / 32, 1);
      return f16_at(b, 0) * scale_k(b, i / 32) * code - f16_at(b, 2) * min_k(b, i / 32);
    }
    case DType::kQ6_K: {
      const int low = bits_at(b, i / 128 * 64 + i % 64, i % 128 < 64 ? 0 : 4, 4);
      return f16_at(b, 208) * plain_at<int8_t>(b + 192 + i / 16) * (low + 16 * pair_k(b, 128, i) - 32);
    }
    case DType::kQ8_K:
      return plain_at<float>(b) * plain_at<int8_t>(b + 4 + i);
    case DType::kIQ4_NL:
      return f16_at(b, 0) * iq4_value(nibble32(b, 2, i));
    case DType::kIQ4_XS: {
      const int g = i / 32;
      const int scale = bits_at(b, 4 + g / 2, g % 2 * 4, 4) + 16 * bits_at(b, 2 + g / 4, g % 4 * 2, 2);
      return f16_at(b, 0) * (scale - 32) * iq4_value(nibble32(b, 8 + 16 * g, i % 32));
    }
    case DType::kMXFP4:
      if (b[0] == 255) return std::numeric_limits<double>::quiet_NaN();
      return std::ldexp(e2m1_value(nibble32(b, 1, i)), b[0] - 127);
    default:
      return std::numeric_limits<double>::quiet_NaN();
  }
}

// Element i of a row.
inline double row_element(DType dtype, const uint8_t* row, int64_t i) {
  const DTypeTraits& t = traits(dtype);
  return block_element(dtype, row + i / t.block_elems * t.block_bytes, static_cast<int>(i % t.block_elems));
}

// All types that a matmul can read.
inline std::vector<DType> weight_types() {
  std::vector<DType> types;
  for (uint32_t id = 0; id < 64; ++id) {
    const DTypeTraits* t = find_dtype(id);
    if (t != nullptr && t->is_weight) types.push_back(t->dtype);
  }
  return types;
}

// Byte offsets of a block's F16 fields.
inline std::vector<int> f16_fields(DType dtype) {
  switch (dtype) {
    case DType::kQ4_0:
    case DType::kQ5_0:
    case DType::kQ8_0:
    case DType::kIQ4_NL:
    case DType::kIQ4_XS:
      return {0};
    case DType::kQ4_1:
    case DType::kQ5_1:
    case DType::kQ4_K:
    case DType::kQ5_K:
      return {0, 2};
    case DType::kQ2_K:
      return {80, 82};
    case DType::kQ3_K:
      return {108};
    case DType::kQ6_K:
      return {208};
    default:
      return {};
  }
}

inline void put_u16(uint8_t* at, unsigned value) {
  at[0] = static_cast<uint8_t>(value & 255);
  at[1] = static_cast<uint8_t>(value >> 8 & 255);
}

// A block of random bits whose scales are finite: of either sign, 2^-6 up to 2^-2.
inline void fill_block(DType dtype, Random& random, uint8_t* block) {
  const DTypeTraits& t = traits(dtype);
  for (uint32_t i = 0; i < t.block_bytes; ++i) block[i] = random.byte();
  const auto sane_f16 = [&] {
    return static_cast<unsigned>(random.below(2) << 15 | (9 + random.below(4)) << 10 | random.below(1024));
  };
  for (const int offset : f16_fields(dtype)) put_u16(block + offset, sane_f16());
  const auto put = [&](auto value) { std::memcpy(block, &value, sizeof value); };
  switch (dtype) {
    case DType::kF16:
      put_u16(block, sane_f16());
      break;
    case DType::kBF16:
      put_u16(block, static_cast<unsigned>(random.below(2) << 15 | (120 + random.below(7)) << 7 |
                                           random.below(128)));
      break;
    case DType::kF32:
      put(static_cast<float>(random.uniform(-1.0, 1.0)));
      break;
    case DType::kF64:
      put(random.uniform(-1.0, 1.0));
      break;
    case DType::kQ8_K:
      put(static_cast<float>(random.uniform(-0.1, 0.1)));
      break;
    case DType::kMXFP4:
      block[0] = static_cast<uint8_t>(120 + random.below(8));
      break;
    default:
      break;
  }
}

// n elements, n a multiple of the block.
inline std::vector<uint8_t> random_weights(DType dtype, int64_t n, Random& random) {
  const DTypeTraits& t = traits(dtype);
  std::vector<uint8_t> bytes(row_bytes(dtype, static_cast<size_t>(n)));
  for (size_t at = 0; at < bytes.size(); at += t.block_bytes) fill_block(dtype, random, bytes.data() + at);
  return bytes;
}

}  // namespace inferno::test
