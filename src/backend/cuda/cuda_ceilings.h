// The ceiling of the CUDA backend: how fast the device reads its memory.
#pragma once

#include "backend/cuda/runtime.h"

namespace inferno::backend::cuda {

struct ReadBandwidth {
  double best_gb_per_s = 0;     // of the fastest pass over memory that no cache holds
  double typical_gb_per_s = 0;  // of the median one
};

// Some hundredths of a second. Errors: kResource where there is no memory left to read.
Result<ReadBandwidth> measure_read_bandwidth(cudaStream_t stream);

}  // namespace inferno::backend::cuda
