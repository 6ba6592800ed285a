// AVX-512 with dot products of bytes.
#pragma once

#include "kernels/cpu/avx512/vector.h"

namespace inferno::kernels {
namespace {

struct Avx512VnniVector : Avx512Vector {
  static constexpr int kLargestOffset = 128;
  static constexpr int kManyTileRows = 7;
  static constexpr int kWideRows = 16;  // of a tile beside a block of a panel: loops/wide_product.h
  // Rows of activations up to which weights are multiplied where they lie, unless they are wide: one tile.
  static constexpr int64_t kPackedRows = kTileRows, kNibbleRows = kTileRows;
  static I dot(I sum, I w, I x) { return _mm512_dpbusd_epi32(sum, w, x); }
};

}  // namespace
}  // namespace inferno::kernels
