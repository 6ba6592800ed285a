#include "kernels/cuda/device/launch_kernel.h"

namespace inferno::kernels::cuda {
namespace {

__global__ void add_kernel(AddParams p) {
  const int64_t i = thread_number();
  if (i < p.n) p.x[i] += p.y[i];
}

}  // namespace

void add(const AddParams& p, Stream stream) {
  launch_for_each(p.n, add_kernel, stream, p);
}

}  // namespace inferno::kernels::cuda
