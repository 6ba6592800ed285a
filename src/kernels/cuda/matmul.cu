#include "kernels/cuda/device/row_products.h"

namespace inferno::kernels::cuda {
namespace {

// Where the parameters lie, a matrix can be chosen by its number; a thread's own copy would be in memory.
template <class Format, int kRows>
__global__ void matmul_kernel(const __grid_constant__ SharedMatmulParams p) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  int64_t m = warp_row();
  int i = 0;
  while (i < p.n_matrices && m >= p.matrices[i].m) m -= p.matrices[i++].m;
  if (i == p.n_matrices) return;
  const SharedMatmulParams::Matrix& matrix = p.matrices[i];
  const LaneProduct product =
      row_products<Format, kRows>(matrix.w, m, p.x, static_cast<int64_t>(blockIdx.y) * kRows, p.n, p.k, lane);
  if (!product.is_there) return;
  const float y = matrix.bias == nullptr ? product.sum : product.sum + matrix.bias[m];
  float& to = matrix.y[product.row * matrix.m + m];
  to = p.add ? to + y : y;
}

}  // namespace

void shared_matmul(const SharedMatmulParams& p, Stream stream) {
  int64_t m = 0;
  for (int i = 0; i < p.n_matrices; ++i) m += p.matrices[i].m;
  launch_row_products(
      p.dtype, p.n, m,
      [](auto format, auto rows) { return matmul_kernel<decltype(format), decltype(rows)::value>; }, stream,
      p);
}

void matmul(const MatmulParams& p, Stream stream) {
  shared_matmul({{{p.w, p.bias, p.y, p.m}}, 1, p.dtype, p.x, p.n, p.k, false}, stream);
}

}  // namespace inferno::kernels::cuda
