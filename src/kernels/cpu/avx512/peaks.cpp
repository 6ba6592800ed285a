#include <immintrin.h>

#include "kernels/cpu/avx512/functions.h"
#include "kernels/cpu/avx512/vector.h"
#include "kernels/cpu/opaque.h"

namespace inferno::kernels::avx512 {

int64_t fp32_loop(int64_t rounds) {
  const __m512 one = _mm512_set1_ps(1);
  __m512 sums[kSums];
  for (__m512& sum : sums) {
    sum = _mm512_setzero_ps();
    INFERNO_OPAQUE(sum);
  }
  for (int64_t i = 0; i < rounds; ++i) {
    for (__m512& sum : sums) sum = _mm512_fmadd_ps(one, one, sum);
  }
  __m512 total = _mm512_setzero_ps();
  for (const __m512& sum : sums) total = _mm512_add_ps(total, sum);
  return static_cast<int64_t>(_mm512_reduce_add_ps(total));
}

namespace {

// add(sum, products): one of kSums sums, and pairs of products in int16 that are computed anew.
template <class Add>
void run_byte_sums(int64_t rounds, __m512i (&sums)[kSums], const Add& add) {
  const __m512i one = _mm512_set1_epi8(1);
  for (__m512i& sum : sums) {
    sum = _mm512_setzero_si512();
    INFERNO_OPAQUE(sum);
  }
  __m512i factor = one;
  for (int64_t i = 0; i < rounds; ++i) {
    for (__m512i& sum : sums) {
      INFERNO_OPAQUE(factor);  // else the products are computed once
      __m512i next = add(sum, _mm512_maddubs_epi16(factor, one));
      INFERNO_OPAQUE(next);  // else g++ 12 also stores each sum in every round
      sum = next;
    }
  }
}

int64_t total(const __m512i (&sums)[kSums]) {
  __m512i all = _mm512_setzero_si512();
  for (const __m512i& sum : sums) all = _mm512_add_epi32(all, sum);
  return Avx512Vector::sum_i32(all);
}

}  // namespace

// Pairs of products in int16, pairs of those in int32, and their sum: three instructions.
int64_t int8_loop(int64_t rounds) {
  const __m512i one = _mm512_set1_epi16(1);
  __m512i sums[kSums];
  run_byte_sums(rounds, sums, [one](__m512i sum, __m512i pairs) {
    return _mm512_add_epi32(sum, _mm512_madd_epi16(pairs, one));
  });
  return total(sums);
}

int64_t int8_in_int16_loop(int64_t rounds) {
  __m512i sums[kSums];
  run_byte_sums(rounds, sums, [](__m512i sum, __m512i pairs) { return _mm512_add_epi16(sum, pairs); });
  for (__m512i& sum : sums) sum = _mm512_madd_epi16(sum, _mm512_set1_epi16(1));
  return total(sums);
}

}  // namespace inferno::kernels::avx512
