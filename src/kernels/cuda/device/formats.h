// What each element of each format stands for: element(block, i), the value that kernels/reference expands
// the block to, bit by bit. And the choice of a kernel by format.
#pragma once

#include "kernels/cuda/device/half.h"
#include "tensor/dtype.h"
#include "tensor/quant_blocks.h"

namespace inferno::kernels::cuda {

struct F16 {
  uint16_t bits;
};
struct BF16 {
  uint16_t bits;
};

// OCP e2m1: sign, two bits of exponent, one of mantissa.
static __device__ const float kE2M1[16] = {0.0f,  0.5f,  1.0f,  1.5f,  2.0f,  3.0f,  4.0f,  6.0f,
                                           -0.0f, -0.5f, -1.0f, -1.5f, -2.0f, -3.0f, -4.0f, -6.0f};
static __device__ const int8_t kCodebookIQ4[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                                   1,    13,   25,  38,  53,  69,  89,  113};

// Element i of the 32 whose low nibbles are the first 16.
__device__ inline int nibble(const uint8_t* qs, int i) {
  return i < 16 ? qs[i] & 15 : qs[i - 16] >> 4;
}

// Bit pair of element i in the layout of Q2_K.
__device__ inline int bit_pair(const uint8_t* qs, int i) {
  return qs[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3;
}

// Scale and minimum of group g in the packing that Q4_K and Q5_K share.
__device__ inline int scale_of(const uint8_t* scales, int g) {
  return g < 4 ? scales[g] & 63 : (scales[g + 4] & 15) | (scales[g - 4] >> 6 << 4);
}
__device__ inline int min_of(const uint8_t* scales, int g) {
  return g < 4 ? scales[g + 4] & 63 : scales[g + 4] >> 4 | (scales[g] >> 6 << 4);
}

__device__ inline float element(float value, int) {
  return value;
}
__device__ inline float element(double value, int) {
  return static_cast<float>(value);
}
__device__ inline float element(F16 value, int) {
  return f16_to_float(value.bits);
}
__device__ inline float element(BF16 value, int) {
  return bf16_to_float(value.bits);
}

__device__ inline float element(const BlockQ4_0& b, int i) {
  return f16_to_float(b.d) * static_cast<float>(nibble(b.qs, i) - 8);
}
__device__ inline float element(const BlockQ4_1& b, int i) {
  return f16_to_float(b.d) * static_cast<float>(nibble(b.qs, i)) + f16_to_float(b.m);
}
__device__ inline float element(const BlockQ5_0& b, int i) {
  const int high = b.qh[i / 8] >> (i % 8) & 1;
  return f16_to_float(b.d) * static_cast<float>((nibble(b.qs, i) | high << 4) - 16);
}
__device__ inline float element(const BlockQ5_1& b, int i) {
  const int high = b.qh[i / 8] >> (i % 8) & 1;
  return f16_to_float(b.d) * static_cast<float>(nibble(b.qs, i) | high << 4) + f16_to_float(b.m);
}
__device__ inline float element(const BlockQ8_0& b, int i) {
  return f16_to_float(b.d) * static_cast<float>(b.qs[i]);
}

__device__ inline float element(const BlockQ2_K& b, int i) {
  const int packed = b.scales[i / 16];
  const float scale = f16_to_float(b.d) * static_cast<float>(packed & 15);
  const float min = f16_to_float(b.dmin) * static_cast<float>(packed >> 4);
  return scale * static_cast<float>(bit_pair(b.qs, i)) - min;
}
__device__ inline float element(const BlockQ3_K& b, int i) {
  const int g = i / 16;
  const int scale_low = g < 8 ? b.scales[g] & 15 : b.scales[g - 8] >> 4;
  const int scale_high = b.scales[8 + g % 4] >> (g / 4 * 2) & 3;
  const float scale = f16_to_float(b.d) * static_cast<float>((scale_low | scale_high << 4) - 32);
  const int high = b.hmask[i % 32] >> (i / 32) & 1;
  return scale * static_cast<float>((bit_pair(b.qs, i) | high << 2) - 4);
}
__device__ inline float element(const BlockQ4_K& b, int i) {
  const int g = i / 32;
  const float scale = f16_to_float(b.d) * static_cast<float>(scale_of(b.scales, g));
  const float min = f16_to_float(b.dmin) * static_cast<float>(min_of(b.scales, g));
  const int q = b.qs[g / 2 * 32 + i % 32] >> (g % 2 * 4) & 15;
  return scale * static_cast<float>(q) - min;
}
__device__ inline float element(const BlockQ5_K& b, int i) {
  const int g = i / 32;
  const float scale = f16_to_float(b.d) * static_cast<float>(scale_of(b.scales, g));
  const float min = f16_to_float(b.dmin) * static_cast<float>(min_of(b.scales, g));
  const int low = b.qs[g / 2 * 32 + i % 32] >> (g % 2 * 4) & 15;
  const int high = b.qh[i % 32] >> g & 1;
  return scale * static_cast<float>(low | high << 4) - min;
}
__device__ inline float element(const BlockQ6_K& b, int i) {
  const float scale = f16_to_float(b.d) * static_cast<float>(b.scales[i / 16]);
  const int low = b.ql[i / 128 * 64 + i % 64] >> (i % 128 / 64 * 4) & 15;
  return scale * static_cast<float>((low | bit_pair(b.qh, i) << 4) - 32);
}
__device__ inline float element(const BlockQ8_K& b, int i) {
  return b.d * static_cast<float>(b.qs[i]);
}

__device__ inline float element(const BlockIQ4_NL& b, int i) {
  return f16_to_float(b.d) * static_cast<float>(kCodebookIQ4[nibble(b.qs, i)]);
}
__device__ inline float element(const BlockIQ4_XS& b, int i) {
  const int g = i / 32;
  const int scale_low = b.scales_l[g / 2] >> (g % 2 * 4) & 15;
  const int scale_high = b.scales_h >> (2 * g) & 3;
  const float scale = f16_to_float(b.d) * static_cast<float>((scale_low | scale_high << 4) - 32);
  return scale * static_cast<float>(kCodebookIQ4[nibble(b.qs + 16 * g, i % 32)]);
}
__device__ inline float element(const BlockMXFP4& b, int i) {
  // 2^-127 is a subnormal, 255 is NaN.
  const uint32_t bits = b.e == 0 ? 0x00400000u : b.e == 255 ? 0x7fc00000u : static_cast<uint32_t>(b.e) << 23;
  return __uint_as_float(bits) * kE2M1[nibble(b.qs, i)];
}

// A row of n elements is n / kElems blocks.
template <class BlockType, int kElemsOfBlock>
struct Format {
  using Block = BlockType;
  static constexpr int kElems = kElemsOfBlock;

  static __device__ float at(const Block* row, int64_t i) {
    return element(row[i / kElems], static_cast<int>(i % kElems));
  }
};

// Calls fn with the Format of a weight type.
template <class Fn>
void with_format(DType dtype, const Fn& fn) {
  switch (dtype) {
    case DType::kF32:
      return fn(Format<float, 1>());
    case DType::kF16:
      return fn(Format<F16, 1>());
    case DType::kBF16:
      return fn(Format<BF16, 1>());
    case DType::kF64:
      return fn(Format<double, 1>());
    case DType::kQ4_0:
      return fn(Format<BlockQ4_0, kBlock32>());
    case DType::kQ4_1:
      return fn(Format<BlockQ4_1, kBlock32>());
    case DType::kQ5_0:
      return fn(Format<BlockQ5_0, kBlock32>());
    case DType::kQ5_1:
      return fn(Format<BlockQ5_1, kBlock32>());
    case DType::kQ8_0:
      return fn(Format<BlockQ8_0, kBlock32>());
    case DType::kQ2_K:
      return fn(Format<BlockQ2_K, kSuperBlock>());
    case DType::kQ3_K:
      return fn(Format<BlockQ3_K, kSuperBlock>());
    case DType::kQ4_K:
      return fn(Format<BlockQ4_K, kSuperBlock>());
    case DType::kQ5_K:
      return fn(Format<BlockQ5_K, kSuperBlock>());
    case DType::kQ6_K:
      return fn(Format<BlockQ6_K, kSuperBlock>());
    case DType::kQ8_K:
      return fn(Format<BlockQ8_K, kSuperBlock>());
    case DType::kIQ4_NL:
      return fn(Format<BlockIQ4_NL, kBlock32>());
    case DType::kIQ4_XS:
      return fn(Format<BlockIQ4_XS, kSuperBlock>());
    case DType::kMXFP4:
      return fn(Format<BlockMXFP4, kBlock32>());
    case DType::kI8:
    case DType::kI16:
    case DType::kI32:
    case DType::kI64:
      return;
  }
}

// Calls fn with the Format of a type that a cache stores.
template <class Fn>
void with_cache_format(DType dtype, const Fn& fn) {
  switch (dtype) {
    case DType::kF16:
      return fn(Format<F16, 1>());
    case DType::kBF16:
      return fn(Format<BF16, 1>());
    case DType::kQ8_0:
      return fn(Format<BlockQ8_0, kBlock32>());
    default:
      return fn(Format<float, 1>());
  }
}

}  // namespace inferno::kernels::cuda
