// Products of one row of weights with rows of activations, by a warp.
#pragma once

#include <type_traits>

#include "kernels/cuda/device/formats.h"
#include "kernels/cuda/device/launch_kernel.h"
#include "kernels/cuda/device/reduce.h"

namespace inferno::kernels::cuda {

constexpr int kProductWarps = 4;    // of a block, each with a row of weights
constexpr int kMaxProductRows = 8;  // of activations that share a warp's reading of a weight row

// What a lane has of the products of kRows rows of activations from row `first` on.
struct LaneProduct {
  float sum;
  int64_t row;    // whose product it is
  bool is_there;  // whether this lane is the one that stores it
};

// Lane l adds up elements l, l + 32, … in order, then the lanes are added in a tree: an order that k alone
// decides, so that kRows changes no bit. x: (n, k). Every lane calls it.
template <class Format, int kRows>
__device__ LaneProduct row_products(const void* weights, int64_t weight_row, const float* x, int64_t first,
                                    int64_t n, int64_t k, int lane) {
  const auto* w = static_cast<const typename Format::Block*>(weights) + weight_row * (k / Format::kElems);
  const float* rows[kRows];
  float sums[kRows];
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    // Behind the last row that row again, whose sum nobody stores.
    rows[r] = x + (first + r < n ? first + r : n - 1) * k;
    sums[r] = 0.0f;
  }
  for (int64_t i = lane; i < k; i += kWarpSize) {
    const float value = Format::at(w, i);
#pragma unroll
    for (int r = 0; r < kRows; ++r) sums[r] = fmaf(value, rows[r][i], sums[r]);
  }
  constexpr int kLanesOfSum = kWarpSize / kRows;
  const int64_t row = first + lane / kLanesOfSum;
  return {sum_warp(sums, lane), row, lane % kLanesOfSum == 0 && row < n};
}

// The weight row of this warp, of those of all matrices of a launch.
__device__ inline int64_t warp_row() {
  return static_cast<int64_t>(blockIdx.x) * kProductWarps + threadIdx.x / kWarpSize;
}

// Launches kernel_of(format, rows), a warp for each of m rows of weights and rows of activations: `rows` is
// an integral constant, 1 or kMaxProductRows.
template <class KernelOf, class Params>
void launch_row_products(DType dtype, int64_t n, int64_t m, const KernelOf& kernel_of, Stream stream,
                         const Params& params) {
  if (n == 0 || m == 0) return;
  with_format(dtype, [&](auto format) {
    const auto go = [&](auto rows) {
      const dim3 grid(static_cast<unsigned>(blocks_for(m, kProductWarps)),
                      static_cast<unsigned>(blocks_for(n, rows)));
      launch(kernel_of(format, rows), grid, dim3(kProductWarps * kWarpSize), stream, params);
    };
    if (n == 1) {
      go(std::integral_constant<int, 1>());
    } else {
      go(std::integral_constant<int, kMaxProductRows>());
    }
  });
}

}  // namespace inferno::kernels::cuda
