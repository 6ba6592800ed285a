// Stands in for CUDA's header of the same name, as cuda_runtime.h does.
#pragma once

#include "cuda_runtime.h"
#include "tensor/half.h"

struct __half {
  uint16_t bits;
};
inline __half __ushort_as_half(uint16_t bits) {
  return {bits};
}
inline uint16_t __half_as_ushort(__half value) {
  return value.bits;
}
inline float __half2float(__half value) {
  return inferno::f16_to_f32(value.bits);
}
inline __half __float2half_rn(float value) {
  return {inferno::f32_to_f16(value)};
}
