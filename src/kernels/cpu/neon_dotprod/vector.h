// NEON with dot products of bytes.
#pragma once

#include "kernels/cpu/neon/vector.h"

namespace inferno::kernels {
namespace {

struct NeonDotprodVector : NeonVector {
  static constexpr int kTilePanels = 2, kTileRows = 4;
};

// Sixteen activations in one register, four of them chosen by each dot product.
template <>
struct Products<NeonDotprodVector> {
  static constexpr int kVectors = 4, kRows = 1;
  using X = int8x16_t;
  using Sum = int32x4_t;
  static constexpr int64_t place(int64_t row, int64_t element) {
    return place_in_quads<NeonDotprodVector>(row, element);
  }
  static Sum start(int32x4_t first, int32x4_t) { return first; }
  static X load(const int8_t* x, const int8_t*) { return vld1q_s8(x); }
  static void add(Sum& sum, const int32x4_t (&w)[4], X x) {
    sum = vdotq_laneq_s32(sum, NeonVector::bytes(w[0]), x, 0);
    sum = vdotq_laneq_s32(sum, NeonVector::bytes(w[1]), x, 1);
    sum = vdotq_laneq_s32(sum, NeonVector::bytes(w[2]), x, 2);
    sum = vdotq_laneq_s32(sum, NeonVector::bytes(w[3]), x, 3);
  }
  static int32x4_t total(Sum sum, int) { return sum; }
};

}  // namespace
}  // namespace inferno::kernels
