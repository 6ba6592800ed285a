// The vector of the AVX2 ISAs, as ../loops needs it. For their own files only: everything has internal
// linkage.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "kernels/cpu/opaque.h"

namespace inferno::kernels {
namespace {

struct Avx2Vector {
  static constexpr int64_t kLanes = 8;
  using F = __m256;   // 8 floats
  using I = __m256i;  // 8 int32, or 32 bytes
  // What fits into 16 registers.
  static constexpr int kTilePanels = 1, kTileRows = 6;
  static constexpr int kFloatTilePanels = 2, kFloatTileRows = 6;
  static constexpr int kScoreRows = 6, kScoreVectors = 2;
  // Rows of activations up to which unpacking weights anew for each tile beats doing it once (nibbles take an
  // operation or two each).
  static constexpr int64_t kPackedRows = 7, kNibbleRows = 8;

  static F zero() { return _mm256_setzero_ps(); }
  static F set(float x) { return _mm256_set1_ps(x); }
  static F load(const float* p) { return _mm256_loadu_ps(p); }
  static F load(const float* p, int64_t n) { return n == kLanes ? load(p) : _mm256_maskload_ps(p, mask(n)); }
  static void store(float* p, F x) { _mm256_storeu_ps(p, x); }
  // With a mask, even one of all lanes, a store takes a Zen 3 eight times as long.
  static void store(float* p, F x, int64_t n) {
    n == kLanes ? store(p, x) : _mm256_maskstore_ps(p, mask(n), x);
  }
  static F set_f16(uint16_t x) { return _mm256_set1_ps(_cvtsh_ss(x)); }
  static F load_f16(const uint16_t* p) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static F load_f16(const uint16_t* p, int64_t n) {
    uint16_t halves[kLanes] = {};
    std::memcpy(halves, p, static_cast<size_t>(n) * sizeof *p);
    return load_f16(halves);
  }
  static void store_f16(uint16_t* p, F x, int64_t n) {
    uint16_t halves[kLanes];
    _mm_storeu_si128(reinterpret_cast<__m128i*>(halves), _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
    std::memcpy(p, halves, static_cast<size_t>(n) * sizeof *p);
  }
  static F load_bf16(const uint16_t* p) {
    const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16));
  }
  static F load_bf16(const uint16_t* p, int64_t n) {
    uint16_t halves[kLanes] = {};
    std::memcpy(halves, p, static_cast<size_t>(n) * sizeof *p);
    return load_bf16(halves);
  }
  // To the nearest, halves to even; a NaN stays one.
  static void store_bf16(uint16_t* p, F x, int64_t n) {
    const I bits = _mm256_castps_si256(x);
    const I odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), set_i32(1));
    const I rounded = _mm256_add_epi32(bits, _mm256_add_epi32(odd, set_i32(0x7fff)));
    const I quiet = _mm256_or_si256(bits, set_i32(0x00400000));
    const I is_nan = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
    const I top = _mm256_srli_epi32(_mm256_blendv_epi8(rounded, quiet, is_nan), 16);
    uint16_t halves[kLanes];
    _mm_storeu_si128(reinterpret_cast<__m128i*>(halves),
                     _mm_packus_epi32(_mm256_castsi256_si128(top), _mm256_extracti128_si256(top, 1)));
    std::memcpy(p, halves, static_cast<size_t>(n) * sizeof *p);
  }

  static F add(F a, F b) { return _mm256_add_ps(a, b); }
  static F sub(F a, F b) { return _mm256_sub_ps(a, b); }
  static F mul(F a, F b) { return _mm256_mul_ps(a, b); }
  static F div(F a, F b) { return _mm256_div_ps(a, b); }
  static F fma(F a, F b, F c) { return _mm256_fmadd_ps(a, b, c); }
  // b where either is NaN.
  static F max(F a, F b) { return _mm256_max_ps(a, b); }
  static F min(F a, F b) { return _mm256_min_ps(a, b); }
  // x where a >= b or one of them is NaN, else 0.
  static F zero_if_less(F a, F b, F x) { return _mm256_and_ps(_mm256_cmp_ps(a, b, _CMP_NLT_UQ), x); }
  static F round(F x) { return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
  // x * 2^n for whole n from -252 to 254: in two steps, as the exponent of a float holds half of them.
  static F scale(F x, F n) {
    const F half = round(mul(n, set(0.5f)));
    return mul(mul(x, power_of_two(half)), power_of_two(sub(n, half)));
  }
  // In a fixed order.
  static float sum(F x) {
    __m128 quarter = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    quarter = _mm_add_ps(quarter, _mm_movehl_ps(quarter, quarter));
    return _mm_cvtss_f32(_mm_add_ss(quarter, _mm_movehdup_ps(quarter)));
  }
  static float first(F x) { return _mm256_cvtss_f32(x); }
  static float largest(F x) {
    __m128 quarter = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    quarter = _mm_max_ps(quarter, _mm_movehl_ps(quarter, quarter));
    return _mm_cvtss_f32(_mm_max_ss(quarter, _mm_movehdup_ps(quarter)));
  }

  static I set_i32(int32_t x) { return _mm256_set1_epi32(x); }
  static I load_bytes(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
  static I zero_i32() { return _mm256_setzero_si256(); }
  static I add_i32(I a, I b) { return _mm256_add_epi32(a, b); }
  static I sub_i32(I a, I b) { return _mm256_sub_epi32(a, b); }
  template <int kBits>
  static I shift_right_i32(I x) {
    return _mm256_srai_epi32(x, kBits);
  }
  static F to_float(I x) { return _mm256_cvtepi32_ps(x); }
  static F float_of_bits(I x) { return _mm256_castsi256_ps(x); }
  static void store_i32(int32_t* p, I x) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), x); }
  static I to_int(F x) { return _mm256_cvtps_epi32(x); }
  static I load_u8(const uint8_t* p) { return _mm256_cvtepu8_epi32(load_8(p)); }
  static I load_i8(const uint8_t* p) { return _mm256_cvtepi8_epi32(load_8(p)); }
  static I and_i32(I a, I b) { return _mm256_and_si256(a, b); }
  static I or_i32(I a, I b) { return _mm256_or_si256(a, b); }
  static I shift_right_u32(I x, int n) { return _mm256_srl_epi32(x, _mm_cvtsi32_si128(n)); }
  static I shift_left_u32(I x, int n) { return _mm256_sll_epi32(x, _mm_cvtsi32_si128(n)); }
  // 2^(e - 127) of bytes e, as MXFP4 has it: 255 is NaN.
  static F load_e8m0(const uint8_t* p) {
    const I e = load_u8(p);
    I bits = _mm256_slli_epi32(e, 23);
    bits = _mm256_blendv_epi8(bits, set_i32(0x00400000), _mm256_cmpeq_epi32(e, zero_i32()));
    bits = _mm256_blendv_epi8(bits, set_i32(0x7fc00000), _mm256_cmpeq_epi32(e, set_i32(255)));
    return _mm256_castsi256_ps(bits);
  }
  static I magnitude_bits(F x) { return _mm256_and_si256(_mm256_castps_si256(x), set_i32(0x7fffffff)); }
  static I max_i32(I a, I b) { return _mm256_max_epi32(a, b); }
  static int32_t largest_i32(I x) {
    __m128i quarter = _mm_max_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    quarter = _mm_max_epi32(quarter, _mm_shuffle_epi32(quarter, 0x4e));
    return _mm_cvtsi128_si32(_mm_max_epi32(quarter, _mm_shuffle_epi32(quarter, 0xb1)));
  }
  static int32_t sum_i32(I x) {
    __m128i quarter = _mm_add_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    quarter = _mm_add_epi32(quarter, _mm_shuffle_epi32(quarter, 0x4e));
    return _mm_cvtsi128_si32(_mm_add_epi32(quarter, _mm_shuffle_epi32(quarter, 0xb1)));
  }
  // Lane i: of x[i].
  static I largest_of_each(const I (&x)[kLanes]) { return reduce_each(x, max_i32); }
  static I sum_of_each(const I (&x)[kLanes]) { return reduce_each(x, add_i32); }
  static void store_i8(int8_t* p, I x) {
    const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm_packs_epi16(words, words));
  }
  static void store_bytes(uint8_t* p, I x) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), x); }
  template <int kShift, int kMask>
  static I byte_field(I x) {
    if constexpr (kShift > 0) x = _mm256_srli_epi16(x, kShift);
    return _mm256_and_si256(x, _mm256_set1_epi8(kMask));
  }
  static I add_bytes(I x, int value) {
    return _mm256_add_epi8(x, _mm256_set1_epi8(static_cast<char>(value)));
  }
  static I add_bytes(I a, I b) { return _mm256_add_epi8(a, b); }
  template <int kBits>
  static I shift_left_i16(I x) {
    return _mm256_slli_epi16(x, kBits);
  }
  // A bit for each byte.
  static uint64_t bytes_below(I x, int n) {
    const I least = _mm256_min_epu8(x, _mm256_set1_epi8(static_cast<char>(n - 1)));
    return static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(x, least)));
  }
  static I keep_bytes(I x, uint64_t which) {
    // Byte i of the bits in all of the bytes 8 i .. 8 i + 7, and then the bit of each.
    const I bits = set_i32(static_cast<int32_t>(static_cast<uint32_t>(which)));
    const I spread = _mm256_shuffle_epi8(
        bits, _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303));
    const I bit = _mm256_set1_epi64x(static_cast<int64_t>(0x8040201008040201));
    return _mm256_and_si256(x, _mm256_cmpeq_epi8(_mm256_and_si256(spread, bit), bit));
  }
  // Of the 16-bit numbers of a and b, those of 128 bits of a before those of b.
  static I lower_bytes(I a, I b) {
    const I lower = _mm256_set1_epi16(0xff);
    return _mm256_packus_epi16(_mm256_and_si256(a, lower), _mm256_and_si256(b, lower));
  }
  static I upper_bytes(I a, I b) {
    return _mm256_packus_epi16(_mm256_srli_epi16(a, 8), _mm256_srli_epi16(b, 8));
  }
  static I even_then_odd_i16(I x) {
    const I in_halves =
        _mm256_shuffle_epi8(x, _mm256_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15, 0, 1, 4,
                                                5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15));
    return _mm256_permute4x64_epi64(in_halves, 0xd8);
  }
  // 32 bytes of each of 8 rows, `stride` bytes apart: x[i] has bytes 4 i .. 4 i + 3 of all.
  static void transpose_quads(const uint8_t* rows, int64_t stride, I (&x)[8]) {
    I a[8];
    I b[8];
#pragma GCC unroll 8
    for (int r = 0; r < 8; ++r) a[r] = load_bytes(rows + r * stride);
#pragma GCC unroll 4
    for (int r = 0; r < 8; r += 2) {
      b[r] = _mm256_unpacklo_epi32(a[r], a[r + 1]);
      b[r + 1] = _mm256_unpackhi_epi32(a[r], a[r + 1]);
    }
#pragma GCC unroll 2
    for (int r = 0; r < 8; r += 4) {
#pragma GCC unroll 2
      for (int i = 0; i < 2; ++i) {
        a[r + 2 * i] = _mm256_unpacklo_epi64(b[r + i], b[r + i + 2]);
        a[r + 2 * i + 1] = _mm256_unpackhi_epi64(b[r + i], b[r + i + 2]);
      }
    }
    // Each half of a[i] has quad i, or i + 4, of rows 0 to 3; of a[i + 4], of the other four.
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      x[i] = _mm256_permute2x128_si256(a[i], a[i + 4], 0x20);
      x[i + 4] = _mm256_permute2x128_si256(a[i], a[i + 4], 0x31);
    }
  }
  static F set_bf16(uint16_t x) {
    return _mm256_castsi256_ps(set_i32(static_cast<int32_t>(uint32_t{x} << 16)));
  }
  // c in all others.
  static F fma_in_lane(int64_t lane, F a, F b, F c) {
    const I numbers = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const I here = _mm256_cmpeq_epi32(numbers, set_i32(static_cast<int32_t>(lane)));
    return _mm256_blendv_ps(c, fma(a, b, c), _mm256_castsi256_ps(here));
  }
  // For numbers that are bfloat16.
  static void store_whole_bf16(uint16_t* p, F x) {
    const I upper = _mm256_srli_epi32(_mm256_castps_si256(x), 16);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p),
                     _mm_packus_epi32(_mm256_castsi256_si128(upper), _mm256_extracti128_si256(upper, 1)));
  }
  // Of bytes in the order of loops/packed_bf16.h: four numbers of each lane.
  static void widen_bf16(I low, I high, F (&x)[4]) {
    const I first = _mm256_unpacklo_epi8(low, high);
    const I second = _mm256_unpackhi_epi8(low, high);
    const I upper = set_i32(static_cast<int32_t>(0xffff0000));
    x[0] = _mm256_castsi256_ps(_mm256_slli_epi32(first, 16));
    x[1] = _mm256_castsi256_ps(_mm256_and_si256(first, upper));
    x[2] = _mm256_castsi256_ps(_mm256_slli_epi32(second, 16));
    x[3] = _mm256_castsi256_ps(_mm256_and_si256(second, upper));
  }
  // table[i] of bytes i < 16.
  static I lookup(const int8_t (&table)[16], I i) {
    const __m128i lane = _mm_loadu_si128(reinterpret_cast<const __m128i*>(table));
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(lane), i);
  }
  // Four bytes, again and again.
  static I repeat4(const int8_t* p) {
    int32_t bytes;
    std::memcpy(&bytes, p, sizeof bytes);
    return _mm256_set1_epi32(bytes);
  }

  // Signed bytes: the product of magnitudes (at most 128 * 127) with the sign at the other factor, so that
  // the sum of two stays below 2^15.
  static I dot(I sum, I w, I x) {
    return add_pairs(sum, multiply_pairs(_mm256_abs_epi8(w), _mm256_sign_epi8(x, w)));
  }
  // Unsigned bytes w times signed ones: pairs of products, added up in 16 bits while they fit, at most
  // vectors_in_words() of them. Of a format whose zero is above 32 not two would.
  static constexpr bool kSumsInWords = true;
  static constexpr int kLargestOffset = 32;
  static I abs_bytes(I x) {
    return _mm256_abs_epi8(x);
  }
  // -1 where a byte is below 0, else 0.
  static I signs_of_bytes(I x) {
    return _mm256_cmpgt_epi8(zero_i32(), x);
  }
  static I xor_i32(I a, I b) {
    return _mm256_xor_si256(a, b);
  }
  static I multiply_pairs(I w, I x) {
    return _mm256_maddubs_epi16(w, x);
  }
  static I add_i16(I a, I b) {
    I sum = _mm256_add_epi16(a, b);
    INFERNO_IN_ORDER(sum);
    return sum;
  }
  static I add_pairs(I sum, I pairs) {
    sum = _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
    INFERNO_IN_ORDER(sum);
    return sum;
  }

 private:
  // Each step joins what is left of two vectors in one.
  template <class Join>
  [[gnu::always_inline]] static inline I reduce_each(const I (&x)[kLanes], const Join& join) {
    I halves[4];
    I pairs[2];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      halves[i] = join(_mm256_permute2x128_si256(x[i], x[i + 4], 0x20),
                       _mm256_permute2x128_si256(x[i], x[i + 4], 0x31));
    }
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) {
      pairs[i] = join(_mm256_unpacklo_epi64(halves[i], halves[i + 2]),
                      _mm256_unpackhi_epi64(halves[i], halves[i + 2]));
    }
    const F a = _mm256_castsi256_ps(pairs[0]);
    const F b = _mm256_castsi256_ps(pairs[1]);
    const I joined = join(_mm256_castps_si256(_mm256_shuffle_ps(a, b, 0x88)),
                          _mm256_castps_si256(_mm256_shuffle_ps(a, b, 0xdd)));
    // Of x[0], x[2], x[1], x[3], and four later.
    return _mm256_shuffle_epi32(joined, 0xd8);
  }
  static I mask(int64_t n) {
    return _mm256_cmpgt_epi32(set_i32(static_cast<int32_t>(n)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
  static __m128i load_8(const uint8_t* p) {
    return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
  }
  static F power_of_two(F n) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(to_int(n), set_i32(127)), 23));
  }
};

}  // namespace
}  // namespace inferno::kernels
