// AVX2 with dot products of bytes.
#pragma once

#include "kernels/cpu/avx2/vector.h"
#include "kernels/cpu/params.h"

namespace inferno::kernels {
namespace {

struct AvxVnniVector : Avx2Vector {
  static constexpr bool kSumsInWords = false;
  static constexpr int kLargestOffset = 128;
  // Not faster there for all types (docs/decisions/009).
  static constexpr int64_t kPackedRows = kStreamedRows, kNibbleRows = kStreamedRows;
  static I dot(I sum, I w, I x) { return _mm256_dpbusd_avx_epi32(sum, w, x); }
};

}  // namespace
}  // namespace inferno::kernels
