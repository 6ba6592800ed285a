#include "kernels/cuda/device/launch_kernel.h"
#include "kernels/cuda/device/reduce.h"

namespace inferno::kernels::cuda {
namespace {

constexpr int kThreads = 256;

// A block for a row.
__global__ void rms_norm_kernel(RmsNormParams p) {
  __shared__ float scratch[kThreads / kWarpSize];
  const float* x = p.x + blockIdx.x * p.dim;
  float* y = p.y + blockIdx.x * p.dim;
  float squares = 0.0f;
  for (int64_t i = threadIdx.x; i < p.dim; i += kThreads) squares = fmaf(x[i], x[i], squares);
  const float sum = reduce_block<kThreads>(squares, Sum(), scratch);
  const float scale = 1.0f / sqrtf(sum / static_cast<float>(p.dim) + p.eps);
  for (int64_t i = threadIdx.x; i < p.dim; i += kThreads) y[i] = x[i] * scale * p.w[i];
}

}  // namespace

void rms_norm(const RmsNormParams& p, Stream stream) {
  if (p.n == 0) return;
  launch(rms_norm_kernel, dim3(static_cast<unsigned>(p.n)), dim3(kThreads), stream, p);
}

}  // namespace inferno::kernels::cuda
