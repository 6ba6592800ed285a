// AVX-512 with dot products of bytes.
#pragma once

#include "kernels/cpu/avx512/vector.h"

namespace inferno::kernels {
namespace {

struct Avx512VnniVector : Avx512Vector {
  static constexpr int kLargestOffset = 128;
  static constexpr int kManyTileRows = 7;
  static constexpr int kWideRows = 16;  // beside a block of a panel in registers: loops/wide_product.h
  // Up to so many rows of activations, unless they are wide, weights are unpacked anew for each tile: for
  // one; of nibbles, an operation or two each, for as many as beat unpacking once.
  static constexpr int64_t kPackedRows = kTileRows, kNibbleRows = 24;
  static I dot(I sum, I w, I x) { return _mm512_dpbusd_epi32(sum, w, x); }
};

}  // namespace
}  // namespace inferno::kernels
