// AVX-512 with dot products of bytes (Intel since Cascade Lake, AMD since Zen 4).
#include <immintrin.h>

#include "kernels/cpu/avx512/vector.h"
#include "kernels/cpu/avx512_vnni/functions.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/opaque.h"

namespace inferno::kernels::avx512_vnni {
namespace {

constexpr int64_t kSums = 16;

int64_t int8_loop(int64_t rounds) {
  const __m512i one = _mm512_set1_epi8(1);
  __m512i sums[kSums];
  for (__m512i& sum : sums) {
    sum = _mm512_setzero_si512();
    INFERNO_OPAQUE(sum);
  }
  for (int64_t i = 0; i < rounds; ++i) {
    for (__m512i& sum : sums) sum = _mm512_dpbusd_epi32(sum, one, one);
  }
  __m512i total = _mm512_setzero_si512();
  for (const __m512i& sum : sums) total = _mm512_add_epi32(total, sum);
  return Avx512Vector::sum_i32(total);
}

}  // namespace

CpuKernels table(CpuKernels base) {
  set_simple_quants(&base);
  set_k_quants(&base);
  base.int8 = {kSums * 64, int8_loop};
  base.int8_in_int16 = {};  // no faster
  return base;
}

}  // namespace inferno::kernels::avx512_vnni
