// A vector in plain C++, as ../loops needs it: four lanes, which every CPU's smallest registers hold. For the
// files of this folder and of ISAs that have nothing better: everything has internal linkage. What takes a
// loop over lanes is a function of its own: the tiles would hold hundreds of copies.
#pragma once

#include <cstdint>
#include <cstring>

#include "tensor/half.h"

namespace inferno::kernels {
namespace {

struct GenericVector {
  static constexpr int64_t kLanes = 4;
  using F [[gnu::vector_size(16)]] = float;
  using I [[gnu::vector_size(16)]] = int32_t;
  using Bytes [[gnu::vector_size(16)]] = int8_t;
  using Shorts [[gnu::vector_size(16)]] = uint16_t;
  using SignedShorts [[gnu::vector_size(16)]] = int16_t;
  using Words [[gnu::vector_size(16)]] = uint32_t;
  // What fits into 16 registers.
  static constexpr int kTilePanels = 1, kTileRows = 4;
  static constexpr int kFloatTilePanels = 2, kFloatTileRows = 4;
  static constexpr int kScoreRows = 2, kScoreVectors = 4;
  // To multiply quantized weights takes longer than to read them in any order: one run of panels.
  static constexpr bool kTakesTwoRuns = false;

  static F zero() { return F{}; }
  static F set(float x) { return F{x, x, x, x}; }
  static F load(const float* p) { return load(p, kLanes); }
  static F load(const float* p, int64_t n) {
    F x = {};
    std::memcpy(&x, p, static_cast<size_t>(n) * sizeof *p);
    return x;
  }
  static void store(float* p, F x) { store(p, x, kLanes); }
  static void store(float* p, F x, int64_t n) { std::memcpy(p, &x, static_cast<size_t>(n) * sizeof *p); }
  [[gnu::noinline]] static F set_f16(uint16_t x) { return set(f16_to_f32(x)); }
  static F load_f16(const uint16_t* p) { return load_f16(p, kLanes); }
  [[gnu::noinline]] static F load_f16(const uint16_t* p, int64_t n) {
    F x = {};
    for (int64_t i = 0; i < n; ++i) x[i] = f16_to_f32(p[i]);
    return x;
  }
  static void store_f16(uint16_t* p, F x, int64_t n) {
    for (int64_t i = 0; i < n; ++i) p[i] = f32_to_f16(x[i]);
  }
  static F load_bf16(const uint16_t* p) {
    F x;
    for (int64_t i = 0; i < kLanes; ++i) x[i] = bf16_to_f32(p[i]);
    return x;
  }
  [[gnu::noinline]] static F load_bf16(const uint16_t* p, int64_t n) {
    F x = {};
    for (int64_t i = 0; i < n; ++i) x[i] = bf16_to_f32(p[i]);
    return x;
  }
  static void store_bf16(uint16_t* p, F x, int64_t n) {
    for (int64_t i = 0; i < n; ++i) p[i] = f32_to_bf16(x[i]);
  }

  static F add(F a, F b) { return a + b; }
  static F sub(F a, F b) { return a - b; }
  static F mul(F a, F b) { return a * b; }
  static F div(F a, F b) { return a / b; }
  static F fma(F a, F b, F c) { return a * b + c; }  // rounds twice
  // b where either is NaN.
  static F max(F a, F b) { return a > b ? a : b; }
  static F min(F a, F b) { return a < b ? a : b; }
  // x where a >= b or one of them is NaN, else 0.
  static F zero_if_less(F a, F b, F x) { return a < b ? F{} : x; }
  // Of |x| < 2^22.
  static F round(F x) {
    const F big = set(12582912.0f);
    return x + big - big;
  }
  // x * 2^n for whole n from -252 to 254: in two steps, as the exponent of a float holds half of them.
  static F scale(F x, F n) {
    const F half = round(n * 0.5f);
    return x * power_of_two(half) * power_of_two(n - half);
  }
  static float sum(F x) { return (x[0] + x[2]) + (x[1] + x[3]); }
  static float first(F x) { return x[0]; }
  static float largest(F x) {
    float result = x[0];
    for (int64_t i = 1; i < kLanes; ++i) result = x[i] > result ? x[i] : result;
    return result;
  }

  static I set_i32(int32_t x) { return I{x, x, x, x}; }
  static I zero_i32() { return I{}; }
  static I load_bytes(const void* p) {
    I x;
    std::memcpy(&x, p, sizeof x);
    return x;
  }
  static void store_bytes(uint8_t* p, I x) { std::memcpy(p, &x, sizeof x); }
  // Modulo 2^32: of a NaN or an infinity any sum will do.
  [[gnu::always_inline]] static I add_i32(I a, I b) { return bits<I>(bits<Words>(a) + bits<Words>(b)); }
  static I sub_i32(I a, I b) { return bits<I>(bits<Words>(a) - bits<Words>(b)); }
  template <int kBits>
  static I shift_right_i32(I x) {
    return x >> kBits;
  }
  static F to_float(I x) { return __builtin_convertvector(x, F); }
  static F float_of_bits(I x) { return bits<F>(x); }
  static void store_i32(int32_t* p, I x) { std::memcpy(p, &x, sizeof x); }
  static I to_int(F x) {
    I result;
    const F rounded = round(x);
    for (int64_t i = 0; i < kLanes; ++i) {
      // What has no int32 becomes the smallest, as x86 has it.
      const bool fits = rounded[i] >= -2147483648.0f && rounded[i] < 2147483648.0f;
      result[i] = fits ? static_cast<int32_t>(rounded[i]) : INT32_MIN;
    }
    return result;
  }
  static I load_u8(const uint8_t* p) { return I{p[0], p[1], p[2], p[3]}; }
  static I load_i8(const uint8_t* p) {
    I x;
    for (int64_t i = 0; i < kLanes; ++i) x[i] = static_cast<int8_t>(p[i]);
    return x;
  }
  static I and_i32(I a, I b) { return a & b; }
  static I or_i32(I a, I b) { return a | b; }
  static I shift_right_u32(I x, int n) { return x >> n; }  // of what is not negative
  static I shift_left_u32(I x, int n) { return x << n; }
  static F load_e8m0(const uint8_t* p) {
    F x;
    for (int64_t i = 0; i < kLanes; ++i) x[i] = e8m0_to_f32(p[i]);
    return x;
  }
  static I magnitude_bits(F x) { return bits<I>(x) & 0x7fffffff; }
  static I max_i32(I a, I b) { return a > b ? a : b; }
  static int32_t largest_i32(I x) {
    int32_t result = x[0];
    for (int64_t i = 1; i < kLanes; ++i) result = x[i] > result ? x[i] : result;
    return result;
  }
  // Modulo 2^32: of infinities the sum means nothing, but it has to be one.
  static int32_t sum_i32(I x) {
    uint32_t sum = 0;
    for (int64_t i = 0; i < kLanes; ++i) sum += static_cast<uint32_t>(x[i]);
    return static_cast<int32_t>(sum);
  }
  // Lane i: of x[i].
  static I largest_of_each(const I (&x)[kLanes]) {
    I result;
    for (int64_t i = 0; i < kLanes; ++i) result[i] = largest_i32(x[i]);
    return result;
  }
  static I sum_of_each(const I (&x)[kLanes]) {
    I result;
    for (int64_t i = 0; i < kLanes; ++i) result[i] = sum_i32(x[i]);
    return result;
  }
  static void store_i8(int8_t* p, I x) {
    for (int64_t i = 0; i < kLanes; ++i)
      p[i] = static_cast<int8_t>(x[i] < -128 ? -128 : x[i] > 127 ? 127 : x[i]);
  }
  // (x >> kShift) & kMask of each byte.
  template <int kShift, int kMask>
  static I byte_field(I x) {
    const auto shifted = bits<Bytes>(static_cast<Shorts>(bits<Shorts>(x) >> kShift));
    return bits<I>(static_cast<Bytes>(shifted & static_cast<int8_t>(kMask)));
  }
  static I add_bytes(I x, int value) {
    return bits<I>(static_cast<Bytes>(bits<Bytes>(x) + static_cast<int8_t>(value)));
  }
  template <int kBits>
  static I shift_left_i16(I x) {
    return bits<I>(static_cast<Shorts>(bits<Shorts>(x) << kBits));
  }
  // table[i] of bytes i < 16.
  [[gnu::noinline]] static I lookup(const int8_t (&table)[16], I index) {
    const Bytes i = bits<Bytes>(index);
    Bytes x;
    for (int64_t j = 0; j < 16; ++j) x[j] = table[i[j]];
    return bits<I>(x);
  }
  // Four bytes, again and again.
  static I repeat4(const int8_t* p) {
    int32_t bytes;
    std::memcpy(&bytes, p, sizeof bytes);
    return set_i32(bytes);
  }

  // The largest of the formats' offsets that stays in the bytes of weights: 128 where they are unsigned.
  static constexpr int kLargestOffset = 0;
  // Adds products of two bytes at a time in 16 bits, which hold them: activations are at least -127.
  [[gnu::always_inline]] static I dot(I sum, I w, I x) {
    const Shorts products = even_bytes(w) * even_bytes(x) + odd_bytes(w) * odd_bytes(x);
    const I pairs = bits<I>(products);
    return add_i32(sum, add_i32(bits<I>(bits<Words>(pairs) << 16) >> 16, pairs >> 16));
  }

 private:
  // In 16 bits, sign and all.
  [[gnu::always_inline]] static Shorts even_bytes(I x) {
    return bits<Shorts>(bits<SignedShorts>(bits<Shorts>(x) << 8) >> 8);
  }
  [[gnu::always_inline]] static Shorts odd_bytes(I x) { return bits<Shorts>(bits<SignedShorts>(x) >> 8); }
  template <class To, class From>
  [[gnu::always_inline]] static To bits(From x) {
    To result;
    std::memcpy(&result, &x, sizeof result);
    return result;
  }
  static F power_of_two(F n) { return bits<F>((to_int(n) + 127) << 23); }
};

}  // namespace
}  // namespace inferno::kernels
