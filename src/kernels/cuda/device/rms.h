// The scale of an RMS norm, by a block.
#pragma once

#include "kernels/cuda/device/reduce.h"

namespace inferno::kernels::cuda {

constexpr int kNormThreads = 256;  // of a block

// 1 / sqrt(mean(x^2) + eps), in every thread of a block of kNormThreads; all call it. The order of the sum
// follows from dim alone.
__device__ inline float rms_scale(const float* x, int64_t dim, float eps) {
  __shared__ float scratch[kNormThreads / kWarpSize];
  float squares = 0.0f;
  for (int64_t i = threadIdx.x; i < dim; i += kNormThreads) squares = fmaf(x[i], x[i], squares);
  const float sum = reduce_block<kNormThreads>(squares, Sum(), scratch);
  return 1.0f / sqrtf(sum / static_cast<float>(dim) + eps);
}

}  // namespace inferno::kernels::cuda
