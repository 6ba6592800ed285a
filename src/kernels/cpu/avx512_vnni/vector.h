// AVX-512 with dot products of bytes.
#pragma once

#include "kernels/cpu/avx512/vector.h"

namespace inferno::kernels {
namespace {

struct Avx512VnniVector : Avx512Vector {
  static constexpr int kLargestOffset = 128;
  static constexpr int kManyTileRows = 7;
  // Rows of activations up to which unpacking weights anew for each tile beats doing it once.
  static constexpr int64_t kPackedRows = 12;
  static constexpr int64_t kNibbleRows = 24;  // the same of nibbles, an operation or two each
  static I dot(I sum, I w, I x) { return _mm512_dpbusd_epi32(sum, w, x); }
};

}  // namespace
}  // namespace inferno::kernels
