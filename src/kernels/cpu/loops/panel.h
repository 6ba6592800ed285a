// What products of weights in panels have in common, whatever the weights are.
#pragma once

#include <cstdint>

#include "kernels/cpu/params.h"

namespace inferno::kernels {
namespace {

// From a panel of a tile to the next: the neighbour, or the one in the next run.
inline int64_t panel_step(const PanelMatmulParams& p) {
  return p.run_step == 0 ? 1 : p.run_step;
}

// Calls tile.operator()<n>(panel) for each panel of the first run: n is 2 where the other one has one beside
// it.
template <class Tile>
void for_tiles_of_runs(const PanelMatmulParams& p, const Tile& tile) {
  for (int64_t panel = p.panel_begin; panel < p.panel_end; ++panel) {
    if (panel + p.run_step < p.run_end) {
      tile.template operator()<2>(panel);
    } else {
      tile.template operator()<1>(panel);
    }
  }
}

// Before a tile of many rows is multiplied: asks for the lines of its outputs, to be written. Another thread
// has read what lay there, and stores that wait for its cache one after the other would hold up the next tile
// (docs/decisions/001, "Outputs asked for").
template <class V, int kPanels, int kRows>
inline __attribute__((always_inline)) void hint_outputs(const PanelMatmulParams& p, int64_t panel,
                                                        int64_t r) {
  if constexpr (kRows > kStreamedRows) {
#pragma GCC unroll 8
    for (int t = 0; t < kRows; ++t) {
#pragma GCC unroll 4
      for (int i = 0; i < kPanels; ++i)
        __builtin_prefetch(p.y + (r + t) * p.m + (panel + i * panel_step(p)) * V::kLanes, 1, 3);
    }
  }
}

// The outputs of kPanels panels of a tile, of which the first is number `panel`, and kRows rows of
// activations, from row r on.
template <class V, int kPanels, int kRows>
inline __attribute__((always_inline)) void store_outputs(const PanelMatmulParams& p,
                                                         const typename V::F (&y)[kPanels][kRows],
                                                         int64_t panel, int64_t r) {
  using F = typename V::F;
#pragma GCC unroll 4
  for (int i = 0; i < kPanels; ++i) {
    const int64_t row = (panel + i * panel_step(p)) * V::kLanes;
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
