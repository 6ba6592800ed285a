// What products of tiles of bfloat16 come to, made by vectors, bit by bit: for few rows. Tiles that are used
// now and then, with other work between, cost decoding more than these do (docs/decisions/003). A product
// sums up, of 32 elements, those with even numbers and those with odd ones by fused multiply-adds, each from
// zero on, adds the two and adds that to C (Intel SDM volume 2, TDPBF16PS); subnormals are zeros all the way.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace inferno::kernels {
namespace {

// The lower half of a float's bits is zeros where it is a bfloat16.
inline __m512i upper_halves() {
  return _mm512_set1_epi32(static_cast<int>(0xffff0000));
}

// Subnormals are zeros from here on, until done(). What is computed so belongs into functions that are not
// inlined: compilers do not know that multiply-adds depend on this.
class SubnormalsAreZeros {
 public:
  SubnormalsAreZeros() : before_(_mm_getcsr()) { _mm_setcsr(before_ | 0x8040); }
  void done() const { _mm_setcsr(before_); }

 private:
  unsigned before_;
};

// Sums of kRows rows: of each row's upper part with the upper part of 16 columns of the second factor, of its
// lower part with that, and, where the second factor has two, of its upper part with the lower part of that.
template <int kRows, int kSecondParts>
struct Bf16Rows {
  static constexpr int kProducts = kSecondParts + 1;
  __m512 sums[kRows];
  __m512 halves[2][kRows][kProducts];  // of the elements with even and with odd numbers

  [[gnu::always_inline]] void begin_block() {
#pragma GCC unroll 2
    for (auto& half : halves) {
#pragma GCC unroll 4
      for (auto& row : half) {
#pragma GCC unroll 3
        for (__m512& sum : row) sum = _mm512_setzero_ps();
      }
    }
  }
  // first[row * stride] is the upper part, first[row * stride + lower] the lower part.
  template <int kOdd>
  [[gnu::always_inline]] void add(const float* first, int64_t stride, int64_t lower, const __m512* second) {
#pragma GCC unroll 4
    for (int64_t row = 0; row < kRows; ++row) {
      __m512(&to)[kProducts] = halves[kOdd][row];
      const __m512 upper = _mm512_set1_ps(first[row * stride]);
      to[0] = _mm512_fmadd_ps(upper, second[0], to[0]);
      to[1] = _mm512_fmadd_ps(_mm512_set1_ps(first[row * stride + lower]), second[0], to[1]);
      if constexpr (kSecondParts == 2) to[2] = _mm512_fmadd_ps(upper, second[1], to[2]);
    }
  }
  [[gnu::always_inline]] void end_block() {
#pragma GCC unroll 4
    for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 3
      for (int i = 0; i < kProducts; ++i)
        sums[row] = _mm512_add_ps(sums[row], _mm512_add_ps(halves[0][row][i], halves[1][row][i]));
    }
  }
};

}  // namespace
}  // namespace inferno::kernels
