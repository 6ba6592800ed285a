// AVX-512 with dot products of bytes.
#pragma once

#include "kernels/cpu/avx512/vector.h"

namespace inferno::kernels {
namespace {

struct Avx512VnniVector : Avx512Vector {
  static constexpr int kLargestOffset = 128;
  static constexpr int kManyTileRows = 7;
  static constexpr int kWideRows = 16;  // beside a block of a panel in registers: loops/wide_product.h
  // Rows of activations up to which unpacking weights anew for each tile beats doing it once, but for those
  // that are wide.
  static constexpr int64_t kPackedRows = kWideRows;
  static constexpr int64_t kNibbleRows = 24;  // the same of nibbles, an operation or two each
  static I dot(I sum, I w, I x) { return _mm512_dpbusd_epi32(sum, w, x); }
};

}  // namespace
}  // namespace inferno::kernels
