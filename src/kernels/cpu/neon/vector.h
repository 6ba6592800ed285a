// The vector of the NEON ISAs, as ../loops needs it. For their own files only: everything has internal
// linkage.
//
// A panel has four rows, one register. Two of them in a tile use the 32 registers as one of eight rows would,
// and fewer rows are padding at the end of a matrix.
#pragma once

#include <arm_neon.h>

#include <cstdint>
#include <cstring>

#include "kernels/cpu/loops/products.h"

namespace inferno::kernels {
namespace {

struct NeonVector {
  static constexpr int64_t kLanes = 4;
  using F = float32x4_t;
  using I = int32x4_t;  // 4 int32, or 16 bytes
  // What fits into 32 registers; a sum of products takes two of them.
  static constexpr int kTilePanels = 2, kTileRows = 2;
  static constexpr int kFloatTilePanels = 4, kFloatTileRows = 6;
  static constexpr int kScoreRows = 6, kScoreVectors = 4;

  static F zero() { return vdupq_n_f32(0); }
  static F set(float x) { return vdupq_n_f32(x); }
  static F load(const float* p) { return vld1q_f32(p); }
  static F load(const float* p, int64_t n) {
    if (n == kLanes) return load(p);
    float lanes[kLanes] = {};
    std::memcpy(lanes, p, static_cast<size_t>(n) * sizeof *p);
    return load(lanes);
  }
  static void store(float* p, F x) { vst1q_f32(p, x); }
  static void store(float* p, F x, int64_t n) {
    if (n == kLanes) return store(p, x);
    float lanes[kLanes];
    store(lanes, x);
    std::memcpy(p, lanes, static_cast<size_t>(n) * sizeof *p);
  }
  static F set_f16(uint16_t x) { return vcvt_f32_f16(vreinterpret_f16_u16(vdup_n_u16(x))); }
  static F load_f16(const uint16_t* p) { return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p))); }
  static F load_f16(const uint16_t* p, int64_t n) {
    if (n == kLanes) return load_f16(p);
    uint16_t halves[kLanes] = {};
    std::memcpy(halves, p, static_cast<size_t>(n) * sizeof *p);
    return load_f16(halves);
  }
  static void store_f16(uint16_t* p, F x, int64_t n) {
    const uint16x4_t rounded = vreinterpret_u16_f16(vcvt_f16_f32(x));
    if (n == kLanes) return vst1_u16(p, rounded);
    uint16_t halves[kLanes];
    vst1_u16(halves, rounded);
    std::memcpy(p, halves, static_cast<size_t>(n) * sizeof *p);
  }
  static F load_bf16(const uint16_t* p) { return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(p), 16)); }
  static F load_bf16(const uint16_t* p, int64_t n) {
    if (n == kLanes) return load_bf16(p);
    uint16_t halves[kLanes] = {};
    std::memcpy(halves, p, static_cast<size_t>(n) * sizeof *p);
    return load_bf16(halves);
  }
  // To the nearest, halves to even; a NaN stays one.
  static void store_bf16(uint16_t* p, F x, int64_t n) {
    const uint32x4_t bits = vreinterpretq_u32_f32(x);
    const uint32x4_t odd = vandq_u32(vshrq_n_u32(bits, 16), vdupq_n_u32(1));
    const uint32x4_t rounded = vaddq_u32(bits, vaddq_u32(odd, vdupq_n_u32(0x7fff)));
    const uint32x4_t quiet = vorrq_u32(bits, vdupq_n_u32(0x00400000));
    const uint16x4_t halves = vshrn_n_u32(vbslq_u32(vceqq_f32(x, x), rounded, quiet), 16);
    if (n == kLanes) return vst1_u16(p, halves);
    uint16_t stored[kLanes];
    vst1_u16(stored, halves);
    std::memcpy(p, stored, static_cast<size_t>(n) * sizeof *p);
  }

  static F add(F a, F b) { return vaddq_f32(a, b); }
  static F sub(F a, F b) { return vsubq_f32(a, b); }
  static F mul(F a, F b) { return vmulq_f32(a, b); }
  static F div(F a, F b) { return vdivq_f32(a, b); }
  static F fma(F a, F b, F c) { return vfmaq_f32(c, a, b); }
  // b where either is NaN.
  static F max(F a, F b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }
  static F min(F a, F b) { return vbslq_f32(vcltq_f32(a, b), a, b); }
  // x where a >= b or one of them is NaN, else 0.
  static F zero_if_less(F a, F b, F x) {
    return vreinterpretq_f32_u32(vbicq_u32(vreinterpretq_u32_f32(x), vcltq_f32(a, b)));
  }
  static F round(F x) { return vrndnq_f32(x); }
  // x * 2^n for whole n from -252 to 254: in two steps, as the exponent of a float holds half of them.
  static F scale(F x, F n) {
    const F half = round(mul(n, set(0.5f)));
    return mul(mul(x, power_of_two(half)), power_of_two(sub(n, half)));
  }
  // In a fixed order: neighbours first.
  static float sum(F x) { return vaddvq_f32(x); }
  static float first(F x) { return vgetq_lane_f32(x, 0); }
  static float largest(F x) { return vmaxvq_f32(x); }

  static I set_i32(int32_t x) { return vdupq_n_s32(x); }
  static I zero_i32() { return vdupq_n_s32(0); }
  static I load_bytes(const void* p) {
    return vreinterpretq_s32_u8(vld1q_u8(static_cast<const uint8_t*>(p)));
  }
  static void store_bytes(uint8_t* p, I x) { vst1q_u8(p, vreinterpretq_u8_s32(x)); }
  static I add_i32(I a, I b) { return vaddq_s32(a, b); }
  static I sub_i32(I a, I b) { return vsubq_s32(a, b); }
  template <int kBits>
  static I shift_right_i32(I x) {
    return vshrq_n_s32(x, kBits);
  }
  static F to_float(I x) { return vcvtq_f32_s32(x); }
  static F float_of_bits(I x) { return vreinterpretq_f32_s32(x); }
  static void store_i32(int32_t* p, I x) { vst1q_s32(p, x); }
  // The nearest int32, of NaN 0.
  static I to_int(F x) { return vcvtnq_s32_f32(x); }
  static I load_u8(const uint8_t* p) {
    return vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(vmovl_u8(vcreate_u8(load_word(p))))));
  }
  static I load_i8(const uint8_t* p) { return vmovl_s16(vget_low_s16(vmovl_s8(vcreate_s8(load_word(p))))); }
  static I and_i32(I a, I b) { return vandq_s32(a, b); }
  static I or_i32(I a, I b) { return vorrq_s32(a, b); }
  static I shift_right_u32(I x, int n) { return vshlq_s32(x, vdupq_n_s32(-n)); }  // of what is not negative
  static I shift_left_u32(I x, int n) { return vshlq_s32(x, vdupq_n_s32(n)); }
  // 2^(e - 127) of bytes e, as MXFP4 has it: 255 is NaN.
  static F load_e8m0(const uint8_t* p) {
    const I e = load_u8(p);
    I bits = vshlq_n_s32(e, 23);
    bits = vbslq_s32(vceqzq_s32(e), set_i32(0x00400000), bits);
    bits = vbslq_s32(vceqq_s32(e, set_i32(255)), set_i32(0x7fc00000), bits);
    return vreinterpretq_f32_s32(bits);
  }
  static I magnitude_bits(F x) { return vreinterpretq_s32_f32(vabsq_f32(x)); }
  static I max_i32(I a, I b) { return vmaxq_s32(a, b); }
  static int32_t largest_i32(I x) { return vmaxvq_s32(x); }
  static int32_t sum_i32(I x) { return vaddvq_s32(x); }
  // Lane i: of x[i].
  static I largest_of_each(const I (&x)[kLanes]) {
    return vpmaxq_s32(vpmaxq_s32(x[0], x[1]), vpmaxq_s32(x[2], x[3]));
  }
  static I sum_of_each(const I (&x)[kLanes]) {
    return vpaddq_s32(vpaddq_s32(x[0], x[1]), vpaddq_s32(x[2], x[3]));
  }
  static void store_i8(int8_t* p, I x) {
    const int16x4_t words = vqmovn_s32(x);
    const int8x8_t bytes = vqmovn_s16(vcombine_s16(words, words));
    const int32_t four = vget_lane_s32(vreinterpret_s32_s8(bytes), 0);
    std::memcpy(p, &four, sizeof four);
  }
  template <int kShift, int kMask>
  static I byte_field(I x) {
    uint8x16_t bytes = vreinterpretq_u8_s32(x);
    if constexpr (kShift > 0) bytes = vshrq_n_u8(bytes, kShift);
    if constexpr (kMask != 0xff >> kShift) bytes = vandq_u8(bytes, vdupq_n_u8(kMask));
    return vreinterpretq_s32_u8(bytes);
  }
  static I add_bytes(I x, int value) {
    return vreinterpretq_s32_s8(vaddq_s8(bytes(x), vdupq_n_s8(static_cast<int8_t>(value))));
  }
  template <int kBits>
  static I shift_left_i16(I x) {
    return vreinterpretq_s32_s16(vshlq_n_s16(vreinterpretq_s16_s32(x), kBits));
  }
  // table[i] of bytes i < 16.
  static I lookup(const int8_t (&table)[16], I i) {
    return vreinterpretq_s32_s8(vqtbl1q_s8(vld1q_s8(table), vreinterpretq_u8_s32(i)));
  }
  // Four bytes, again and again.
  static I repeat4(const int8_t* p) {
    int32_t four;
    std::memcpy(&four, p, sizeof four);
    return vdupq_n_s32(four);
  }
  static int8x16_t bytes(I x) { return vreinterpretq_s8_s32(x); }

  static constexpr int kLargestOffset = 64;

 private:
  static uint64_t load_word(const uint8_t* p) {
    uint32_t word;
    std::memcpy(&word, p, sizeof word);
    return word;
  }
  static F power_of_two(F n) {
    return vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(to_int(n), set_i32(127)), 23));
  }
};

// Two products of bytes fit into an int16 (2 * 128 * 127 < 2^15). A Sum has two lanes for each row of
// weights.
template <>
struct Products<NeonVector> {
  static constexpr int kVectors = 2, kRows = 1;
  struct X {
    int8x16_t quads[2];
  };
  struct Sum {
    int32x4_t low, high;  // of the panel's first two rows and its last two
  };
  static constexpr int64_t place(int64_t row, int64_t element) {
    return place_in_quads<NeonVector>(row, element);
  }
  static Sum start(int32x4_t first, int32x4_t) {
    const int32x4_t zero = vdupq_n_s32(0);
    const int32x4_t once = vzip1q_s32(first, zero);
    return {once, once};
  }
  static X load(const int8_t* x, const int8_t*) {
    return {{NeonVector::bytes(NeonVector::repeat4(x)), NeonVector::bytes(NeonVector::repeat4(x + 4))}};
  }
  static void add(Sum& sum, const int32x4_t (&w)[2], const X& x) {
    const int8x16_t a = NeonVector::bytes(w[0]);
    const int8x16_t b = NeonVector::bytes(w[1]);
    const int16x8_t low = vmull_s8(vget_low_s8(a), vget_low_s8(x.quads[0]));
    const int16x8_t high = vmull_high_s8(a, x.quads[0]);
    sum.low = vpadalq_s16(sum.low, vmlal_s8(low, vget_low_s8(b), vget_low_s8(x.quads[1])));
    sum.high = vpadalq_s16(sum.high, vmlal_high_s8(high, b, x.quads[1]));
  }
  static int32x4_t total(const Sum& sum, int) { return vpaddq_s32(sum.low, sum.high); }
};

}  // namespace
}  // namespace inferno::kernels
