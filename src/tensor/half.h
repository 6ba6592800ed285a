// Conversions between float and the 16-bit floats and the 8-bit exponent of MXFP4, bit by bit, exact,
// branch-light. Plain data: kernels may include it; `static` so that no object exports a weak copy compiled
// for another ISA.
#pragma once

#include <cstdint>
#include <cstring>

namespace inferno {

static inline float bits_to_float(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

static inline uint32_t float_to_bits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

// IEEE 754 binary16 to binary32; exact for all 65,536 inputs (a NaN stays a NaN).
static inline float f16_to_f32(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
  const uint32_t exponent = (half >> 10) & 0x1fu;
  const uint32_t mantissa = half & 0x3ffu;
  if (exponent == 0x1f) return bits_to_float(sign | 0x7f800000u | (mantissa << 13));
  if (exponent != 0) return bits_to_float(sign | ((exponent + 112) << 23) | (mantissa << 13));
  // Zero and subnormals: mantissa * 2^-24, exact in binary32.
  const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
  return bits_to_float(sign | float_to_bits(magnitude));
}

// binary32 to binary16, round to nearest even; overflow gives infinity, NaN a quiet NaN.
static inline uint16_t f32_to_f16(float value) {
  const uint32_t bits = float_to_bits(value);
  const uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
  if (magnitude >= 0x477ff000u)
    return static_cast<uint16_t>(sign | 0x7c00u);  // 65520 and up round to infinity
  if (magnitude < 0x38800000u) {
    // Below 2^-14: adding 0.5 aligns the subnormal's last place with the float's, so the sum rounds to even.
    const float shifted = bits_to_float(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (float_to_bits(shifted) - 0x3f000000u));
  }
  const uint32_t odd = (magnitude >> 13) & 1u;
  return static_cast<uint16_t>(sign | ((magnitude - (112u << 23) + 0xfffu + odd) >> 13));
}

static inline float bf16_to_f32(uint16_t value) {
  return bits_to_float(static_cast<uint32_t>(value) << 16);
}

// binary32 to bfloat16, round to nearest even; a NaN stays a NaN.
static inline uint16_t f32_to_bf16(float value) {
  const uint32_t bits = float_to_bits(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

// OCP MX E8M0 scale: 2^(e - 127); 255 is NaN.
static inline float e8m0_to_f32(uint8_t exponent) {
  if (exponent == 0) return bits_to_float(0x00400000u);  // 2^-127, a subnormal
  if (exponent == 255) return bits_to_float(0x7fc00000u);
  return bits_to_float(static_cast<uint32_t>(exponent) << 23);
}

}  // namespace inferno
