// Products of floating-point weights in panels and many rows of float32 activations where it costs as much to
// bring a weight into float32 as to multiply with it: so many elements of a tile's panels at a time become
// float32 for all rows. Sums so far wait in the outputs; they go through the elements in the same order as in
// panel_float.h, whose panels these are.
#pragma once

#include <cstdint>

#include "kernels/cpu/loops/panel_float.h"

namespace inferno::kernels {
namespace {

template <class V, class Element>
class UnpackedFloat {
 public:
  static int64_t scratch_bytes(int64_t) { return V::kFloatTilePanels * kPanelBytes; }

  static void multiply(const PanelMatmulParams& p) {
    if (p.n < kFewestRows) return multiply_float<V, Element>(p);
    int64_t panel = p.panel_begin;
    for (; p.panel_end - panel >= V::kFloatTilePanels; panel += V::kFloatTilePanels)
      multiply_panels<V::kFloatTilePanels>(p, panel);
    for (; panel < p.panel_end; ++panel) multiply_panels<1>(p, panel);
  }

 private:
  using F = typename V::F;
  // As many rows pay for unpacking, and sums that wait (docs/decisions/011).
  static constexpr int64_t kFewestRows = 48;
  static constexpr int64_t kElements = 512;
  static constexpr int64_t kPanelBytes = kElements * V::kLanes * static_cast<int64_t>(sizeof(float));

  template <int kPanels>
  static void multiply_panels(const PanelMatmulParams& p, int64_t panel) {
    const FloatPanels panels = float_panels_at<V, Element>(p, panel);
    auto* unpacked = reinterpret_cast<float*>(p.scratch);
    for (int64_t begin = 0; begin < p.k; begin += kElements) {
      const int64_t n = p.k - begin < kElements ? p.k - begin : kElements;
      for (int64_t i = 0; i < kPanels; ++i) {
        for (int64_t j = 0; j < n; ++j) {
          V::store(unpacked + (i * kElements + j) * V::kLanes,
                   Element::load(panels.first + i * panels.step, begin + j));
        }
      }
      int64_t r = 0;
      for (; p.n - r >= V::kFloatTileRows; r += V::kFloatTileRows)
        multiply_tile<kPanels, V::kFloatTileRows>(p, unpacked, panel, r, begin, n);
      multiply_rest<kPanels, V::kFloatTileRows - 1>(p, unpacked, panel, r, begin, n);
    }
  }

  // The rows that are left, fewer than kRows + 1, in one tile.
  template <int kPanels, int kRows>
  static void multiply_rest(const PanelMatmulParams& p, const float* unpacked, int64_t panel, int64_t r,
                            int64_t begin, int64_t n) {
    if constexpr (kRows > 0) {
      if (p.n - r == kRows) return multiply_tile<kPanels, kRows>(p, unpacked, panel, r, begin, n);
      multiply_rest<kPanels, kRows - 1>(p, unpacked, panel, r, begin, n);
    }
  }

  // Elements begin .. begin + n - 1 of kPanels panels, from number `panel` on, and of kRows rows, from r on.
  template <int kPanels, int kRows>
  static void multiply_tile(const PanelMatmulParams& p, const float* unpacked, int64_t panel, int64_t r,
                            int64_t begin, int64_t n) {
    const int64_t first = panel * V::kLanes;
    const float* x[kRows];
    F y[kPanels][kRows];
#pragma GCC unroll 8
    for (int t = 0; t < kRows; ++t) {
      x[t] = p.x + (r + t) * p.k + begin;
#pragma GCC unroll 4
      for (int i = 0; i < kPanels; ++i) {
        y[i][t] = begin == 0 ? V::zero()
                             : V::load(p.y + (r + t) * p.m + first + i * V::kLanes, columns(p, panel + i));
      }
    }
    if (begin + n == p.k) hint_outputs<V, kPanels, kRows>(p, panel, r);
    for (int64_t j = 0; j < n; ++j) {
      F w[kPanels];
#pragma GCC unroll 4
      for (int i = 0; i < kPanels; ++i) w[i] = V::load(unpacked + (i * kElements + j) * V::kLanes);
#pragma GCC unroll 8
      for (int t = 0; t < kRows; ++t) {
        const F xj = V::set(x[t][j]);
#pragma GCC unroll 4
        for (int i = 0; i < kPanels; ++i) y[i][t] = V::fma(w[i], xj, y[i][t]);
      }
    }
    if (begin + n == p.k) return store_outputs<V>(p, y, panel, r);
#pragma GCC unroll 8
    for (int t = 0; t < kRows; ++t) {
#pragma GCC unroll 4
      for (int i = 0; i < kPanels; ++i)
        V::store(p.y + (r + t) * p.m + first + i * V::kLanes, y[i][t], columns(p, panel + i));
    }
  }

  static int64_t columns(const PanelMatmulParams& p, int64_t panel) {
    const int64_t n = p.m - panel * V::kLanes;
    return n < V::kLanes ? n : V::kLanes;
  }
};

}  // namespace
}  // namespace inferno::kernels
