// The 16-bit floats as the device converts them: the same values as tensor/half.h.
#pragma once

#include <cuda_fp16.h>

#include <cstdint>

namespace inferno::kernels::cuda {

__device__ inline float f16_to_float(uint16_t bits) {
  return __half2float(__ushort_as_half(bits));
}

__device__ inline uint16_t float_to_f16(float value) {
  return __half_as_ushort(__float2half_rn(value));
}

__device__ inline float bf16_to_float(uint16_t bits) {
  return __uint_as_float(static_cast<uint32_t>(bits) << 16);
}

// To the nearest, ties to even; a NaN stays a NaN.
__device__ inline uint16_t float_to_bf16(float value) {
  const uint32_t bits = __float_as_uint(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

}  // namespace inferno::kernels::cuda
