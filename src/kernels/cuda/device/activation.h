// The activations of a gated MLP.
#pragma once

#include <cuda_runtime.h>

#include "kernels/params.h"

namespace inferno::kernels::cuda {

__device__ inline float silu(float x) {
  return x / (1.0f + expf(-x));
}

__device__ inline float gelu_tanh(float x) {
  constexpr float kSqrtTwoOverPi = 0.79788456080286536f;
  return 0.5f * x * (1.0f + tanhf(kSqrtTwoOverPi * (x + 0.044715f * x * x * x)));
}

__device__ inline float activate(float x, Activation activation) {
  return activation == Activation::kSilu ? silu(x) : gelu_tanh(x);
}

}  // namespace inferno::kernels::cuda
