// What products of weights in panels have in common, whatever the weights are.
#pragma once

#include <cstdint>

#include "kernels/cpu/params.h"

namespace inferno::kernels {
namespace {

// The outputs of kPanels panels, from number `panel` on, and kRows rows of activations, from row r on.
template <class V, int kPanels, int kRows>
inline __attribute__((always_inline)) void store_outputs(const PanelMatmulParams& p,
                                                         const typename V::F (&y)[kPanels][kRows],
                                                         int64_t panel, int64_t r) {
  using F = typename V::F;
#pragma GCC unroll 4
  for (int i = 0; i < kPanels; ++i) {
    const int64_t row = (panel + i) * V::kLanes;
    const int64_t n = p.m - row < V::kLanes ? p.m - row : V::kLanes;
    const F bias = p.bias == nullptr ? V::zero() : V::load(p.bias + row, n);
#pragma GCC unroll 8
    for (int t = 0; t < kRows; ++t) {
      const F sum = p.bias == nullptr ? y[i][t] : V::add(y[i][t], bias);
      V::store(p.y + (r + t) * p.m + row, sum, n);
    }
  }
}

}  // namespace
}  // namespace inferno::kernels
