// The ceilings of the device's memory: how fast it is read, and how fast it is copied. That of the matrix
// units is matrix_peak.h's.
#pragma once

#include "backend/cuda/runtime.h"

namespace inferno::backend::cuda {

struct Bandwidth {
  double best_gb_per_s = 0;     // of the fastest pass over memory that no cache holds
  double typical_gb_per_s = 0;  // of the median one

  double steadiness() const { return best_gb_per_s > 0 ? typical_gb_per_s / best_gb_per_s : 1; }
};

// Some hundredths of a second each. Errors: kResource where there is no memory left to read.
Result<Bandwidth> measure_read_bandwidth(cudaStream_t stream);
// By the runtime's own copy from one half of that memory to the other; bytes read and bytes written both
// count.
Result<Bandwidth> measure_copy_bandwidth(cudaStream_t stream);

}  // namespace inferno::backend::cuda
