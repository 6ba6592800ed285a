#include <immintrin.h>

#include "kernels/cpu/avx512/functions.h"
#include "kernels/cpu/avx512/vector.h"
#include "kernels/cpu/loops/byte_peaks.h"
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

// Without dot products of bytes; products themselves are AVX2's then.
struct ByteProducts : Avx512Vector {
  static I multiply_pairs(I w, I x) { return _mm512_maddubs_epi16(w, x); }
  static I add_i16(I a, I b) { return _mm512_add_epi16(a, b); }
  static I add_pairs(I sum, I pairs) {
    return _mm512_add_epi32(sum, _mm512_madd_epi16(pairs, _mm512_set1_epi16(1)));
  }
};

}  // namespace

int64_t int8_loop(int64_t rounds) {
  return run_int8<ByteProducts, kSums>(rounds);
}

int64_t int8_in_int16_loop(int64_t rounds) {
  return run_int8_in_int16<ByteProducts, kSums>(rounds);
}

}  // namespace inferno::kernels::avx512
