#include <immintrin.h>

#include "kernels/cpu/avx2/functions.h"
#include "kernels/cpu/opaque.h"

namespace inferno::kernels::avx2 {

int64_t fp32_loop(int64_t rounds) {
  const __m256 one = _mm256_set1_ps(1);
  __m256 sums[kSums];
  for (__m256& sum : sums) {
    sum = _mm256_setzero_ps();
    INFERNO_OPAQUE(sum);
  }
  for (int64_t i = 0; i < rounds; ++i) {
    for (__m256& sum : sums) sum = _mm256_fmadd_ps(one, one, sum);
  }
  __m256 total = _mm256_setzero_ps();
  for (const __m256& sum : sums) total = _mm256_add_ps(total, sum);
  float lanes[8];
  _mm256_storeu_ps(lanes, total);
  float result = 0;
  for (const float lane : lanes) result += lane;
  return static_cast<int64_t>(result);
}

namespace {

// add(sum, products): one of kByteSums sums, and pairs of products in int16 that are computed anew.
template <class Add>
void run_byte_sums(int64_t rounds, __m256i (&sums)[kByteSums], const Add& add) {
  const __m256i one = _mm256_set1_epi8(1);
  for (__m256i& sum : sums) {
    sum = _mm256_setzero_si256();
    INFERNO_OPAQUE(sum);
  }
  __m256i factor = one;
  for (int64_t i = 0; i < rounds; ++i) {
    for (__m256i& sum : sums) {
      INFERNO_OPAQUE(factor);  // else the products are computed once
      __m256i next = add(sum, _mm256_maddubs_epi16(factor, one));
      INFERNO_OPAQUE(next);  // else g++ 12 also stores each sum in every round
      sum = next;
    }
  }
}

int64_t total(const __m256i (&sums)[kByteSums]) {
  __m256i all = _mm256_setzero_si256();
  for (const __m256i& sum : sums) all = _mm256_add_epi32(all, sum);
  int32_t lanes[8];
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(lanes), all);
  int64_t result = 0;
  for (const int32_t lane : lanes) result += lane;
  return result;
}

}  // namespace

// Pairs of products in int16, pairs of those in int32, and their sum: three instructions.
int64_t int8_loop(int64_t rounds) {
  const __m256i one = _mm256_set1_epi16(1);
  __m256i sums[kByteSums];
  run_byte_sums(rounds, sums, [one](__m256i sum, __m256i pairs) {
    return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, one));
  });
  return total(sums);
}

int64_t int8_in_int16_loop(int64_t rounds) {
  __m256i sums[kByteSums];
  run_byte_sums(rounds, sums, [](__m256i sum, __m256i pairs) { return _mm256_add_epi16(sum, pairs); });
  for (__m256i& sum : sums) sum = _mm256_madd_epi16(sum, _mm256_set1_epi16(1));
  return total(sums);
}

}  // namespace inferno::kernels::avx2
