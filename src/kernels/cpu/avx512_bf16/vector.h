// AVX-512 with dot products of two bfloat16.
#pragma once

#include <immintrin.h>

#include "kernels/cpu/avx512/vector.h"

namespace inferno::kernels {
namespace {

struct Avx512Bf16Vector : Avx512Vector {
  // sum + the products of two bfloat16 in each lane. Subnormals are zeros, each of both sums is rounded to
  // the nearest (Intel SDM volume 2, VDPBF16PS).
  static F add_bf16_products(I w, I x, F sum) {
    return _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(w), reinterpret_cast<__m512bh>(x));
  }
  // The first n, to the nearest, halves to even; subnormals as zeros.
  static void store_nearest_bf16(uint16_t* p, F x, int64_t n) {
    const auto rounded = reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(x));
    if (n == kLanes) return _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), rounded);
    _mm256_mask_storeu_epi16(p, static_cast<__mmask16>((1u << n) - 1u), rounded);
  }
};

}  // namespace
}  // namespace inferno::kernels
