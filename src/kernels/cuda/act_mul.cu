#include "kernels/cuda/device/activation.h"
#include "kernels/cuda/device/launch_kernel.h"

namespace inferno::kernels::cuda {
namespace {

__global__ void act_mul_kernel(ActMulParams p) {
  const int64_t i = thread_number();
  if (i < p.n) p.y[i] = activate(p.gate[i], p.activation) * p.up[i];
}

}  // namespace

void act_mul(const ActMulParams& p, Stream stream) {
  launch_for_each(p.n, act_mul_kernel, stream, p);
}

}  // namespace inferno::kernels::cuda
