// AVX-512 with dot products of bfloat16 (Intel since Cooper Lake, AMD since Zen 4).
#include <immintrin.h>

#include "kernels/cpu/avx512_bf16/functions.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/opaque.h"

namespace inferno::kernels::avx512_bf16 {
namespace {

constexpr int64_t kSums = 16;

int64_t bf16_loop(int64_t rounds) {
  const __m512bh one = _mm512_cvtne2ps_pbh(_mm512_set1_ps(1), _mm512_set1_ps(1));
  __m512 sums[kSums];
  for (__m512& sum : sums) {
    sum = _mm512_setzero_ps();
    INFERNO_OPAQUE(sum);
  }
  for (int64_t i = 0; i < rounds; ++i) {
    for (__m512& sum : sums) sum = _mm512_dpbf16_ps(sum, one, one);
  }
  __m512 total = _mm512_setzero_ps();
  for (const __m512& sum : sums) total = _mm512_add_ps(total, sum);
  return static_cast<int64_t>(_mm512_reduce_add_ps(total));
}

}  // namespace

CpuKernels table(CpuKernels base) {
  set_bf16_products(&base);
  base.bf16 = {kSums * 32, bf16_loop};
  return base;
}

}  // namespace inferno::kernels::avx512_bf16
