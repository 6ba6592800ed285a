// The ceiling of the device's matrix units: how fast NVIDIA's own library, found when the program runs,
// multiplies large matrices of BF16 and sums in float32.
#pragma once

#include <cstdint>

#include "backend/cuda/runtime.h"

namespace inferno::backend::cuda {

struct MatrixPeak {
  double best_gflop_per_s = 0;     // of the fastest product
  double typical_gflop_per_s = 0;  // of the median one, by the same algorithm
  int64_t rows = 0;                // and columns, of each of the matrices

  double steadiness() const { return best_gflop_per_s > 0 ? typical_gflop_per_s / best_gflop_per_s : 1; }
};

// Some tenths of a second at most, but the first time the library, hundreds of megabytes, is loaded, and
// stays so. The matrices have 8192 rows and as many columns, or a power of two less where they would take
// more than half of the memory that is free: 4096 come near the same peak, far smaller ones do not. Errors:
// kUnavailable without the library, kResource without memory, kRuntime for what either refuses and where a
// product is wrong.
Result<MatrixPeak> measure_matrix_peak(cudaStream_t stream);

}  // namespace inferno::backend::cuda
