// The vector of the AVX-512 ISAs, as ../loops needs it. For their own files only: everything has internal
// linkage.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

namespace inferno::kernels {
namespace {

struct Avx512Vector {
  static constexpr int64_t kLanes = 16;
  using F = __m512;   // 16 floats
  using I = __m512i;  // 16 int32, or 64 bytes
  // What fits into 32 registers.
  static constexpr int kTilePanels = 2, kTileRows = 6;
  static constexpr int kFloatTilePanels = 4, kFloatTileRows = 6;
  static constexpr int kScoreRows = 6, kScoreVectors = 4;

  static F zero() { return _mm512_setzero_ps(); }
  static F set(float x) { return _mm512_set1_ps(x); }
  static F load(const float* p) { return _mm512_loadu_ps(p); }
  static F load(const float* p, int64_t n) { return _mm512_maskz_loadu_ps(mask(n), p); }
  static void store(float* p, F x) { _mm512_storeu_ps(p, x); }
  static void store(float* p, F x, int64_t n) { _mm512_mask_storeu_ps(p, mask(n), x); }
  static F set_f16(uint16_t x) { return _mm512_set1_ps(_cvtsh_ss(x)); }
  static F load_f16(const uint16_t* p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  static F load_f16(const uint16_t* p, int64_t n) {
    return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(mask(n), p));
  }
  static void store_f16(uint16_t* p, F x, int64_t n) {
    _mm256_mask_storeu_epi16(p, mask(n), _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
  }
  static F load_bf16(const uint16_t* p) {
    return from_bf16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  static F load_bf16(const uint16_t* p, int64_t n) { return from_bf16(_mm256_maskz_loadu_epi16(mask(n), p)); }
  // To the nearest, halves to even; a NaN stays one.
  static void store_bf16(uint16_t* p, F x, int64_t n) {
    const I bits = _mm512_castps_si512(x);
    const I odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), set_i32(1));
    const I rounded = _mm512_add_epi32(bits, _mm512_add_epi32(odd, set_i32(0x7fff)));
    const __mmask16 is_nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
    const I kept = _mm512_mask_or_epi32(rounded, is_nan, bits, set_i32(0x00400000));
    _mm256_mask_storeu_epi16(p, mask(n), _mm512_cvtepi32_epi16(_mm512_srli_epi32(kept, 16)));
  }

  static F add(F a, F b) { return _mm512_add_ps(a, b); }
  static F sub(F a, F b) { return _mm512_sub_ps(a, b); }
  static F mul(F a, F b) { return _mm512_mul_ps(a, b); }
  static F div(F a, F b) { return _mm512_div_ps(a, b); }
  static F fma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
  // b where either is NaN.
  static F max(F a, F b) { return _mm512_max_ps(a, b); }
  static F min(F a, F b) { return _mm512_min_ps(a, b); }
  // x where a >= b or one of them is NaN, else 0.
  static F zero_if_less(F a, F b, F x) {
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(a, b, _CMP_NLT_UQ), x);
  }
  static F round(F x) { return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
  // x * 2^n for whole n.
  static F scale(F x, F n) { return _mm512_scalef_ps(x, n); }
  // In a fixed order.
  static float sum(F x) {
    const __m256 half = _mm256_add_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1));
    __m128 quarter = _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
    quarter = _mm_add_ps(quarter, _mm_movehl_ps(quarter, quarter));
    return _mm_cvtss_f32(_mm_add_ss(quarter, _mm_movehdup_ps(quarter)));
  }
  static float first(F x) { return _mm512_cvtss_f32(x); }
  static float largest(F x) { return _mm512_reduce_max_ps(x); }

  static I set_i32(int32_t x) { return _mm512_set1_epi32(x); }
  static I load_bytes(const void* p) { return _mm512_loadu_si512(p); }
  static I zero_i32() { return _mm512_setzero_si512(); }
  static I add_i32(I a, I b) { return _mm512_add_epi32(a, b); }
  static I sub_i32(I a, I b) { return _mm512_sub_epi32(a, b); }
  template <int kBits>
  static I shift_right_i32(I x) {
    return _mm512_srai_epi32(x, kBits);
  }
  static F to_float(I x) { return _mm512_cvtepi32_ps(x); }
  static F float_of_bits(I x) { return _mm512_castsi512_ps(x); }
  static void store_i32(int32_t* p, I x) { _mm512_storeu_si512(p, x); }
  static I to_int(F x) { return _mm512_cvtps_epi32(x); }
  static I load_u8(const uint8_t* p) {
    return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static I load_i8(const uint8_t* p) {
    return _mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static I and_i32(I a, I b) { return _mm512_and_si512(a, b); }
  static I or_i32(I a, I b) { return _mm512_or_si512(a, b); }
  static I shift_right_u32(I x, int n) { return _mm512_srl_epi32(x, _mm_cvtsi32_si128(n)); }
  static I shift_left_u32(I x, int n) { return _mm512_sll_epi32(x, _mm_cvtsi32_si128(n)); }
  // 2^(e - 127) of bytes e, as MXFP4 has it: 255 is NaN.
  static F load_e8m0(const uint8_t* p) {
    const I e = load_u8(p);
    const I normal = _mm512_slli_epi32(e, 23);
    const I with_subnormal = _mm512_mask_set1_epi32(normal, _mm512_testn_epi32_mask(e, e), 0x00400000);
    const __mmask16 is_nan = _mm512_cmpeq_epi32_mask(e, _mm512_set1_epi32(255));
    return _mm512_castsi512_ps(_mm512_mask_set1_epi32(with_subnormal, is_nan, 0x7fc00000));
  }
  static I magnitude_bits(F x) {
    return _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(0x7fffffff));
  }
  static I max_i32(I a, I b) { return _mm512_max_epi32(a, b); }
  static int32_t largest_i32(I x) { return _mm512_reduce_max_epi32(x); }
  // Wraps. Not _mm512_reduce_add_epi32: it adds signed numbers, which may not overflow.
  static int32_t sum_i32(I x) {
    const __m256i half = _mm256_add_epi32(_mm512_castsi512_si256(x), _mm512_extracti64x4_epi64(x, 1));
    __m128i quarter = _mm_add_epi32(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
    quarter = _mm_add_epi32(quarter, _mm_unpackhi_epi64(quarter, quarter));
    return _mm_cvtsi128_si32(_mm_add_epi32(quarter, _mm_shuffle_epi32(quarter, 1)));
  }
  // Lane i: of x[i].
  static I largest_of_each(const I (&x)[kLanes]) { return reduce_each(x, max_i32); }
  static I sum_of_each(const I (&x)[kLanes]) { return reduce_each(x, add_i32); }
  static void store_i8(int8_t* p, I x) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtsepi32_epi8(x));
  }
  // Lane r of x[i] becomes lane i of x[r].
  static void transpose(F (&x)[kLanes]) {
    F pairs[kLanes];
#pragma GCC unroll 8
    for (int r = 0; r < 16; r += 2) {
      pairs[r] = _mm512_unpacklo_ps(x[r], x[r + 1]);
      pairs[r + 1] = _mm512_unpackhi_ps(x[r], x[r + 1]);
    }
    F fours[kLanes];
#pragma GCC unroll 4
    for (int r = 0; r < 16; r += 4) {
#pragma GCC unroll 2
      for (int i = 0; i < 2; ++i) {
        const __m512d a = _mm512_castps_pd(pairs[r + i]);
        const __m512d b = _mm512_castps_pd(pairs[r + i + 2]);
        fours[r + 2 * i] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, b));
        fours[r + 2 * i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, b));
      }
    }
    // fours[4 q + c] has, in its quarter i, x[4 q] .. x[4 q + 3] of lane 4 i + c.
#pragma GCC unroll 4
    for (int c = 0; c < 4; ++c) {
      const F low = _mm512_shuffle_f32x4(fours[c], fours[4 + c], 0x88);
      const F high = _mm512_shuffle_f32x4(fours[8 + c], fours[12 + c], 0x88);
      const F low_odd = _mm512_shuffle_f32x4(fours[c], fours[4 + c], 0xdd);
      const F high_odd = _mm512_shuffle_f32x4(fours[8 + c], fours[12 + c], 0xdd);
      x[c] = _mm512_shuffle_f32x4(low, high, 0x88);
      x[4 + c] = _mm512_shuffle_f32x4(low_odd, high_odd, 0x88);
      x[8 + c] = _mm512_shuffle_f32x4(low, high, 0xdd);
      x[12 + c] = _mm512_shuffle_f32x4(low_odd, high_odd, 0xdd);
    }
  }
  // 32 bytes of each of 16 rows, `stride` bytes apart: x[i] has bytes 4 i .. 4 i + 3 of all.
  static void transpose_quads(const uint8_t* rows, int64_t stride, I (&x)[8]) {
    I a[8];
    I b[8];
#pragma GCC unroll 8
    for (int r = 0; r < 8; ++r) {
      const auto row = [&](int64_t i) {
        return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(rows + i * stride));
      };
      a[r] = _mm512_inserti64x4(_mm512_castsi256_si512(row(r)), row(r + 8), 1);
    }
#pragma GCC unroll 4
    for (int r = 0; r < 8; r += 2) {
      b[r] = _mm512_unpacklo_epi32(a[r], a[r + 1]);
      b[r + 1] = _mm512_unpackhi_epi32(a[r], a[r + 1]);
    }
#pragma GCC unroll 2
    for (int r = 0; r < 8; r += 4) {
#pragma GCC unroll 2
      for (int i = 0; i < 2; ++i) {
        a[r + 2 * i] = _mm512_unpacklo_epi64(b[r + i], b[r + i + 2]);
        a[r + 2 * i + 1] = _mm512_unpackhi_epi64(b[r + i], b[r + i + 2]);
      }
    }
    // Each quarter of a[i] has vector i, or i + 4, of rows 0 to 3 or 8 to 11; of a[i + 4], of the four rows
    // after them.
    const I low = _mm512_set_epi64(13, 12, 5, 4, 9, 8, 1, 0);
    const I high = _mm512_set_epi64(15, 14, 7, 6, 11, 10, 3, 2);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      x[i] = _mm512_permutex2var_epi64(a[i], low, a[i + 4]);
      x[i + 4] = _mm512_permutex2var_epi64(a[i], high, a[i + 4]);
    }
  }
  static void store_bytes(uint8_t* p, I x) {
    _mm512_storeu_si512(p, x);
  }
  static F set_bf16(uint16_t x) {
    return _mm512_castsi512_ps(set_i32(static_cast<int32_t>(uint32_t{x} << 16)));
  }
  // c in all others.
  static F fma_in_lane(int64_t lane, F a, F b, F c) {
    return _mm512_mask3_fmadd_ps(a, b, c, static_cast<__mmask16>(1u << lane));
  }
  // For numbers that are bfloat16.
  static void store_whole_bf16(uint16_t* p, F x) {
    const __m256i upper = _mm512_cvtepi32_epi16(_mm512_srli_epi32(_mm512_castps_si512(x), 16));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), upper);
  }
  // Of the 16-bit numbers of a and b, those of 128 bits of a before those of b.
  static I lower_bytes(I a, I b) {
    const I lower = _mm512_set1_epi16(0xff);
    return _mm512_packus_epi16(_mm512_and_si512(a, lower), _mm512_and_si512(b, lower));
  }
  static I upper_bytes(I a, I b) {
    return _mm512_packus_epi16(_mm512_srli_epi16(a, 8), _mm512_srli_epi16(b, 8));
  }
  // A bit for each byte.
  static uint64_t bytes_below(I x, int n) {
    return _mm512_cmplt_epu8_mask(x, _mm512_set1_epi8(static_cast<char>(n)));
  }
  static I keep_bytes(I x, uint64_t which) {
    return _mm512_maskz_mov_epi8(which, x);
  }
  static I even_then_odd_i16(I x) {
    const __m256i even = _mm512_cvtepi32_epi16(x);
    const __m256i odd = _mm512_cvtepi32_epi16(_mm512_srli_epi32(x, 16));
    return _mm512_inserti64x4(_mm512_castsi256_si512(even), odd, 1);
  }
  template <int kShift, int kMask>
  static I byte_field(I x) {
    if constexpr (kShift > 0) x = _mm512_srli_epi16(x, kShift);
    return _mm512_and_si512(x, _mm512_set1_epi8(kMask));
  }
  static I add_bytes(I x, int value) {
    return _mm512_add_epi8(x, _mm512_set1_epi8(static_cast<char>(value)));
  }
  static I add_bytes(I a, I b) {
    return _mm512_add_epi8(a, b);
  }
  template <int kBits>
  static I shift_left_i16(I x) {
    return _mm512_slli_epi16(x, kBits);
  }
  // `value` in byte i where bit i of the 64 from p on is 1, else 0.
  static I select_bytes(const uint8_t* p, int8_t value) {
    uint64_t bits;
    std::memcpy(&bits, p, sizeof bits);
    return _mm512_maskz_set1_epi8(bits, value);
  }
  // table[i] of bytes i < 16.
  static I lookup(const int8_t (&table)[16], I i) {
    const __m128i lane = _mm_loadu_si128(reinterpret_cast<const __m128i*>(table));
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(lane), i);
  }
  // Of bytes in the order of loops/packed_bf16.h: four numbers of each lane.
  static void widen_bf16(I low, I high, F (&x)[4]) {
    const I first = _mm512_unpacklo_epi8(low, high);
    const I second = _mm512_unpackhi_epi8(low, high);
    const I upper = _mm512_set1_epi32(static_cast<int>(0xffff0000));
    x[0] = _mm512_castsi512_ps(_mm512_slli_epi32(first, 16));
    x[1] = _mm512_castsi512_ps(_mm512_and_si512(first, upper));
    x[2] = _mm512_castsi512_ps(_mm512_slli_epi32(second, 16));
    x[3] = _mm512_castsi512_ps(_mm512_and_si512(second, upper));
  }
  // The same as pairs of neighbours.
  static void pair_bf16(I low, I high, I (&x)[2]) {
    x[0] = _mm512_unpacklo_epi8(low, high);
    x[1] = _mm512_unpackhi_epi8(low, high);
  }
  // Four bytes, again and again.
  static I repeat4(const int8_t* p) {
    int32_t bytes;
    std::memcpy(&bytes, p, sizeof bytes);
    return _mm512_set1_epi32(bytes);
  }

 private:
  // Each step joins what is left of two vectors in one.
  template <class Join>
  [[gnu::always_inline]] static inline I reduce_each(const I (&x)[kLanes], const Join& join) {
    I halves[8];
    I quarters[4];
    I pairs[2];
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) {
      halves[i] =
          join(_mm512_shuffle_i64x2(x[i], x[i + 8], 0x44), _mm512_shuffle_i64x2(x[i], x[i + 8], 0xee));
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      quarters[i] = join(_mm512_shuffle_i64x2(halves[i], halves[i + 4], 0x88),
                         _mm512_shuffle_i64x2(halves[i], halves[i + 4], 0xdd));
    }
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) {
      pairs[i] = join(_mm512_unpacklo_epi64(quarters[i], quarters[i + 2]),
                      _mm512_unpackhi_epi64(quarters[i], quarters[i + 2]));
    }
    const F a = _mm512_castsi512_ps(pairs[0]);
    const F b = _mm512_castsi512_ps(pairs[1]);
    const I joined = join(_mm512_castps_si512(_mm512_shuffle_ps(a, b, 0x88)),
                          _mm512_castps_si512(_mm512_shuffle_ps(a, b, 0xdd)));
    // Of x[0], x[2], x[1], x[3]; eight later; four later; twelve later.
    const I places = _mm512_set_epi32(15, 13, 14, 12, 7, 5, 6, 4, 11, 9, 10, 8, 3, 1, 2, 0);
    return _mm512_permutexvar_epi32(places, joined);
  }
  static F from_bf16(__m256i halves) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
  }
  static __mmask16 mask(int64_t n) {
    return static_cast<__mmask16>((1u << n) - 1u);
  }
};

}  // namespace
}  // namespace inferno::kernels
