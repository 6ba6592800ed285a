#include "kernels/cuda/device/launch_kernel.h"

namespace inferno::kernels::cuda {
namespace {

__global__ void gather_rows_kernel(GatherRowsParams p) {
  const int64_t i = thread_number();
  if (i < p.n * p.dim) p.y[i] = p.x[p.ids[i / p.dim] * p.dim + i % p.dim];
}

}  // namespace

void gather_rows(const GatherRowsParams& p, Stream stream) {
  launch_for_each(p.n * p.dim, gather_rows_kernel, stream, p);
}

}  // namespace inferno::kernels::cuda
