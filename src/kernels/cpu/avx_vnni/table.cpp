// AVX2 with dot products of bytes (Intel since Alder Lake, AMD since Zen 5).
#include <immintrin.h>

#include "kernels/cpu/avx_vnni/functions.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/opaque.h"

namespace inferno::kernels::avx_vnni {
namespace {

constexpr int64_t kSums = 12;

int64_t int8_loop(int64_t rounds) {
  const __m256i one = _mm256_set1_epi8(1);
  __m256i sums[kSums];
  for (__m256i& sum : sums) {
    sum = _mm256_setzero_si256();
    INFERNO_OPAQUE(sum);
  }
  for (int64_t i = 0; i < rounds; ++i) {
    for (__m256i& sum : sums) {
      __m256i next = _mm256_dpbusd_avx_epi32(sum, one, one);
      INFERNO_OPAQUE(next);  // else g++ 12 also stores each sum in every round
      sum = next;
    }
  }
  __m256i total = _mm256_setzero_si256();
  for (const __m256i& sum : sums) total = _mm256_add_epi32(total, sum);
  int32_t lanes[8];
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(lanes), total);
  int64_t result = 0;
  for (const int32_t lane : lanes) result += lane;
  return result;
}

}  // namespace

CpuKernels table(CpuKernels base) {
  set_simple_quants(&base);
  set_k_quants(&base);
  base.int8 = {kSums * 32, int8_loop};
  base.int8_in_int16 = {};  // no faster
  return base;
}

}  // namespace inferno::kernels::avx_vnni
