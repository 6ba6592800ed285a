#include "kernels/cuda/device/launch_kernel.h"

namespace inferno::kernels::cuda {
namespace {

__device__ float silu(float x) {
  return x / (1.0f + expf(-x));
}

__device__ float gelu_tanh(float x) {
  constexpr float kSqrtTwoOverPi = 0.79788456080286536f;
  return 0.5f * x * (1.0f + tanhf(kSqrtTwoOverPi * (x + 0.044715f * x * x * x)));
}

__global__ void act_mul_kernel(ActMulParams p) {
  const int64_t i = thread_number();
  if (i >= p.n) return;
  p.y[i] = (p.activation == Activation::kSilu ? silu(p.gate[i]) : gelu_tanh(p.gate[i])) * p.up[i];
}

}  // namespace

void act_mul(const ActMulParams& p, Stream stream) {
  launch_for_each(p.n, act_mul_kernel, stream, p);
}

}  // namespace inferno::kernels::cuda
