#include "kernels/cuda/device/activation.h"
#include "kernels/cuda/device/row_products.h"

namespace inferno::kernels::cuda {
namespace {

// A warp multiplies with a row of either matrix, one after the other.
template <class Format, int kRows>
__global__ void gated_matmul_kernel(GatedMatmulParams p) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  const int64_t m = warp_row();
  if (m >= p.m) return;
  const int64_t first = static_cast<int64_t>(blockIdx.y) * kRows;
  const LaneProduct gate = row_products<Format, kRows>(p.w_gate, m, p.x, first, p.n, p.k, lane);
  const LaneProduct up = row_products<Format, kRows>(p.w_up, m, p.x, first, p.n, p.k, lane);
  if (gate.is_there) p.y[gate.row * p.m + m] = activate(gate.sum, p.activation) * up.sum;
}

}  // namespace

void gated_matmul(const GatedMatmulParams& p, Stream stream) {
  launch_row_products(
      p.dtype, p.n, p.m,
      [](auto format, auto rows) { return gated_matmul_kernel<decltype(format), decltype(rows)::value>; },
      stream, p);
}

}  // namespace inferno::kernels::cuda
