// NEON with products of matrices of bytes: two rows of weights, eight elements of each, by two rows of
// activations.
#pragma once

#include "kernels/cpu/neon/vector.h"

namespace inferno::kernels {
namespace {

struct NeonI8mmVector : NeonVector {
  static constexpr int kTilePanels = 2, kTileRows = 4;
};

// Two vectors have eight elements of the panel's four rows, two rows in each. Where there is but one row of
// activations it stands for both: as many instructions as dot products would take.
template <>
struct Products<NeonI8mmVector> {
  static constexpr int kVectors = 4, kRows = 2;
  struct X {
    int8x16_t eights[2];  // of both rows
  };
  struct Sum {
    int32x4_t low,
        high;  // of the panel's first two rows and its last two: (row of weights, row of activations)
  };
  static constexpr int64_t place(int64_t row, int64_t element) {
    return element / 8 * 32 + row * 8 + element % 8;
  }
  static Sum start(int32x4_t first, int32x4_t second) {
    const int32x4_t both = vzip1q_s32(first, second);
    return {both, both};
  }
  static X load(const int8_t* first, const int8_t* second) {
    const int64x2_t a = vreinterpretq_s64_s8(vld1q_s8(first));
    const int64x2_t b = vreinterpretq_s64_s8(vld1q_s8(second));
    return {{vreinterpretq_s8_s64(vzip1q_s64(a, b)), vreinterpretq_s8_s64(vzip2q_s64(a, b))}};
  }
  static void add(Sum& sum, const int32x4_t (&w)[4], const X& x) {
    sum.low = vmmlaq_s32(sum.low, NeonVector::bytes(w[0]), x.eights[0]);
    sum.high = vmmlaq_s32(sum.high, NeonVector::bytes(w[1]), x.eights[0]);
    sum.low = vmmlaq_s32(sum.low, NeonVector::bytes(w[2]), x.eights[1]);
    sum.high = vmmlaq_s32(sum.high, NeonVector::bytes(w[3]), x.eights[1]);
  }
  static int32x4_t total(const Sum& sum, int row) {
    return row == 0 ? vuzp1q_s32(sum.low, sum.high) : vuzp2q_s32(sum.low, sum.high);
  }
};

}  // namespace
}  // namespace inferno::kernels
