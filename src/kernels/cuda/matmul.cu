#include "kernels/cuda/device/formats.h"
#include "kernels/cuda/device/launch_kernel.h"
#include "kernels/cuda/device/reduce.h"

namespace inferno::kernels::cuda {
namespace {

constexpr int kWarps = 4;    // of a block
constexpr int kMaxRows = 8;  // of x that share a warp's reading of a weight row

// A warp for a row of weights and kRows rows of x. Lane l adds up elements l, l + 32, … in order, then the
// lanes are added in a tree: an order that k alone decides, so that kRows changes no bit.
template <class Format, int kRows>
__global__ void matmul_kernel(MatmulParams p) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  const int64_t m = static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.x / kWarpSize;
  const int64_t first = static_cast<int64_t>(blockIdx.y) * kRows;
  if (m >= p.m) return;
  const auto* w = static_cast<const typename Format::Block*>(p.w) + m * (p.k / Format::kElems);
  const float* x[kRows];
  float sums[kRows];
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    // Behind the last row that row again, whose sum nobody stores.
    x[r] = p.x + (first + r < p.n ? first + r : p.n - 1) * p.k;
    sums[r] = 0.0f;
  }
  for (int64_t k = lane; k < p.k; k += kWarpSize) {
    const float value = Format::at(w, k);
#pragma unroll
    for (int r = 0; r < kRows; ++r) sums[r] = fmaf(value, x[r][k], sums[r]);
  }
  const float sum = sum_warp(sums, lane);
  constexpr int kLanesOfSum = kWarpSize / kRows;
  const int64_t row = first + lane / kLanesOfSum;
  if (lane % kLanesOfSum != 0 || row >= p.n) return;
  p.y[row * p.m + m] = p.bias == nullptr ? sum : sum + p.bias[m];
}

template <class Format, int kRows>
void launch_matmul(const MatmulParams& p, Stream stream) {
  const dim3 grid(static_cast<unsigned>(blocks_for(p.m, kWarps)),
                  static_cast<unsigned>(blocks_for(p.n, kRows)));
  launch(matmul_kernel<Format, kRows>, grid, dim3(kWarps * kWarpSize), stream, p);
}

}  // namespace

void matmul(const MatmulParams& p, Stream stream) {
  if (p.n == 0 || p.m == 0) return;
  with_format(p.dtype, [&](auto format) {
    if (p.n == 1) {
      launch_matmul<decltype(format), 1>(p, stream);
    } else {
      launch_matmul<decltype(format), kMaxRows>(p, stream);
    }
  });
}

}  // namespace inferno::kernels::cuda
