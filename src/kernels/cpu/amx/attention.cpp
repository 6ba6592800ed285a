// Attention over caches in float16 and bfloat16 by products of bfloat16: a float16 is the sum of two. Of
// queries and weights, each rounded to the sum of two, 16 bits are left, and what the lower parts of both
// factors come to, 2^-17 of a product, is left out: below what rounding a key to float16 has cost, 2^-12.
#include <immintrin.h>

#include "kernels/cpu/amx/functions.h"
#include "kernels/cpu/amx/tile_attention.h"

namespace inferno::kernels::amx {
namespace {

// x is the sum of two bfloat16, of which `upper` is the first; the second one is rounded where it is made
// one. (An infinity's is NaN: products with one are NaN or infinite anyway.)
struct TwoParts {
  __m512 upper, lower;
};
TwoParts two_parts(__m512 x) {
  // To the nearest, halves away from zero.
  const __m512i rounded = _mm512_add_epi32(_mm512_castps_si512(x), _mm512_set1_epi32(0x8000));
  const __m512 upper = _mm512_castsi512_ps(_mm512_and_si512(rounded, upper_halves()));
  return {upper, _mm512_sub_ps(x, upper)};
}

// 32 numbers as both their parts.
[[gnu::always_inline]] inline void split(__m512 x0, __m512 x1, __m512i* high, __m512i* low) {
  const TwoParts first = two_parts(x0);
  const TwoParts second = two_parts(x1);
  *high = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(second.upper, first.upper));
  *low = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(second.lower, first.lower));
}

struct Bf16Products {
  static constexpr PairType kType = PairType::kBf16;
  static constexpr float kWeightFactor = 1;
  static constexpr int kFewRows = 4;

  static float split_query(const float* q, int64_t head_dim, int64_t row, uint16_t* queries) {
    constexpr int64_t kTileHalves = 16 * 32;
    uint16_t* to = queries + row / 16 * head_dim / 32 * 2 * kTileHalves + row % 16 * 32;
    for (int64_t d = 0; d < head_dim; d += 32, to += 2 * kTileHalves)
      split_weights(_mm512_loadu_ps(q + d), _mm512_loadu_ps(q + d + 16), to, to + kTileHalves);
    return 1;
  }
  static void split_weights(__m512 w0, __m512 w1, uint16_t* high, uint16_t* low) {
    __m512i parts[2];
    split(w0, w1, &parts[0], &parts[1]);
    _mm512_store_si512(high, parts[0]);
    _mm512_store_si512(low, parts[1]);
  }
};

struct F16Cache : Bf16Products {
  using Stored = CachedF16<Avx512Vector>;
  static constexpr int64_t kSecondParts = 2;

  // Each rest has so few bits that it is a bfloat16.
  [[gnu::always_inline]] static void split_line(const uint16_t* line, __m512i* high, __m512i* low) {
    const TwoParts first = two_parts(Avx512Vector::load_f16(line));
    const TwoParts second = two_parts(Avx512Vector::load_f16(line + 16));
    *high = in_pairs(first.upper, second.upper);
    *low = in_pairs(first.lower, second.lower);
  }

  template <int kOdd>
  [[gnu::always_inline]] static void pair(const uint16_t* line, __m512* parts) {
    const TwoParts both = two_parts(Avx512Vector::load_f16(line + kOdd * 16));
    parts[0] = both.upper;
    parts[1] = both.lower;
  }

 private:
  // The upper halves of both, one of the first one's after the other below those of the second one.
  static __m512i in_pairs(__m512 first, __m512 second) {
    constexpr int kOrOfAnd = 0xf8;  // a | (b & c)
    return _mm512_ternarylogic_epi32(_mm512_srli_epi32(_mm512_castps_si512(first), 16),
                                     _mm512_castps_si512(second), upper_halves(), kOrOfAnd);
  }
};

struct BF16Cache : Bf16Products {
  using Stored = CachedBF16<Avx512Vector>;
  static constexpr int64_t kSecondParts = 1;

  template <int kOdd>
  [[gnu::always_inline]] static void pair(const uint16_t* line, __m512* parts) {
    const __m512i bits = _mm512_loadu_si512(line);
    parts[0] =
        _mm512_castsi512_ps(kOdd == 1 ? _mm512_and_si512(bits, upper_halves()) : _mm512_slli_epi32(bits, 16));
  }
};

}  // namespace

void set_attention(CpuKernels* table) {
  table->block_multiple = kTileBlockMultiple;
  table->tile_caches[static_cast<int>(DType::kF16)] = TileAttention<F16Cache>::kernels();
  table->tile_caches[static_cast<int>(DType::kBF16)] = TileAttention<BF16Cache>::kernels();
}

}  // namespace inferno::kernels::amx
