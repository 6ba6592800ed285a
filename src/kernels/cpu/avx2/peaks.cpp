#include <immintrin.h>

#include "kernels/cpu/avx2/functions.h"
#include "kernels/cpu/avx2/vector.h"
#include "kernels/cpu/loops/byte_peaks.h"
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

int64_t int8_loop(int64_t rounds) {
  return run_int8<Avx2Vector, kByteSums>(rounds);
}

int64_t int8_in_int16_loop(int64_t rounds) {
  return run_int8_in_int16<Avx2Vector, kByteSums>(rounds);
}

}  // namespace inferno::kernels::avx2
