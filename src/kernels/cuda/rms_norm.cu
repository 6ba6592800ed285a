#include "kernels/cuda/device/launch_kernel.h"
#include "kernels/cuda/device/rms.h"

namespace inferno::kernels::cuda {
namespace {

// A block for a row, here and below.
__global__ void rms_norm_kernel(RmsNormParams p) {
  const float* x = p.x + blockIdx.x * p.dim;
  float* y = p.y + blockIdx.x * p.dim;
  const float scale = rms_scale(x, p.dim, p.eps);
  for (int64_t i = threadIdx.x; i < p.dim; i += kNormThreads) y[i] = x[i] * scale * p.w[i];
}

__global__ void rms_norm_add_kernel(RmsNormParams p) {
  const float* x = p.x + blockIdx.x * p.dim;
  float* y = p.y + blockIdx.x * p.dim;
  const float scale = rms_scale(x, p.dim, p.eps);
  for (int64_t i = threadIdx.x; i < p.dim; i += kNormThreads) y[i] += x[i] * scale * p.w[i];
}

void launch_rows(void (*kernel)(RmsNormParams), const RmsNormParams& p, Stream stream) {
  if (p.n > 0) launch(kernel, dim3(static_cast<unsigned>(p.n)), dim3(kNormThreads), stream, p);
}

}  // namespace

void rms_norm(const RmsNormParams& p, Stream stream) {
  launch_rows(rms_norm_kernel, p, stream);
}

void rms_norm_add(const RmsNormParams& p, Stream stream) {
  launch_rows(rms_norm_add_kernel, p, stream);
}

}  // namespace inferno::kernels::cuda
