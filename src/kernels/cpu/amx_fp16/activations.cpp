#include <immintrin.h>

#include "kernels/cpu/amx_fp16/functions.h"

namespace inferno::kernels::amx_fp16 {
namespace {

constexpr int64_t kTileHalves = kF16Rows * kF16Cols;

// The power of two by which a row is divided, so that its largest number is near the end of float16's range:
// 1 where it has none, or an infinity.
float scale_of(const float* x, int64_t k) {
  __m512i largest = _mm512_setzero_si512();  // of the bits, which are ordered as the magnitudes are
  const __m512i magnitude = _mm512_set1_epi32(0x7fffffff);
  for (int64_t i = 0; i < k; i += 16) {
    const auto mask = static_cast<__mmask16>(k - i >= 16 ? 0xffffu : (1u << (k - i)) - 1u);
    const __m512i bits = _mm512_maskz_loadu_epi32(mask, x + i);
    largest = _mm512_max_epi32(largest, _mm512_and_si512(bits, magnitude));
  }
  const int exponent = (_mm512_reduce_max_epi32(largest) >> 23) - 127;
  constexpr int kLast = 14;  // of 2^14 .. 2^15 there are no infinities after rounding
  if (exponent == -127 || exponent == 128) return 1;
  const int power = exponent - kLast < -100 ? -100 : exponent - kLast;
  return _mm512_cvtss_f32(_mm512_scalef_ps(_mm512_set1_ps(1), _mm512_set1_ps(static_cast<float>(power))));
}

}  // namespace

void to_f16(const F16Params& p) {
  const int64_t blocks = (p.k + kF16Cols - 1) / kF16Cols;
  for (int64_t r = 0; r < p.n_rows; ++r) {
    const int64_t row = p.row + r;
    const float* x = p.x + r * p.k;
    const float scale = scale_of(x, p.k);
    p.to.scales[row] = scale;
    const __m512 factor = _mm512_set1_ps(1 / scale);
    uint16_t* to = p.to.tiles + row / kF16Rows * blocks * kF16Parts * kTileHalves + row % kF16Rows * kF16Cols;
    for (int64_t i = 0; i < p.k; i += kF16Cols) {
      __m512 rest[2];
      for (int64_t v = 0; v < 2; ++v) {
        const int64_t left = p.k - i - v * 16;
        const auto mask = static_cast<__mmask16>(left >= 16 ? 0xffffu : left > 0 ? (1u << left) - 1u : 0u);
        rest[v] = _mm512_mul_ps(_mm512_maskz_loadu_ps(mask, x + i + v * 16), factor);
      }
      constexpr int kInfinity = 0x08 | 0x10;  // which has no rest
      const __mmask16 finite[2] = {_knot_mask16(_mm512_fpclass_ps_mask(rest[0], kInfinity)),
                                   _knot_mask16(_mm512_fpclass_ps_mask(rest[1], kInfinity))};
      for (int64_t part = 0; part < kF16Parts; ++part, to += kTileHalves) {
        constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
        const __m256i low = _mm512_cvtps_ph(rest[0], kNearest);
        const __m256i high = _mm512_cvtps_ph(rest[1], kNearest);
        _mm512_store_si512(to, _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1));
        rest[0] = _mm512_maskz_sub_ps(finite[0], rest[0], _mm512_cvtph_ps(low));
        rest[1] = _mm512_maskz_sub_ps(finite[1], rest[1], _mm512_cvtph_ps(high));
      }
    }
  }
}

}  // namespace inferno::kernels::amx_fp16
