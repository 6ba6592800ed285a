// Products of floating-point weights in panels and float32 activations. An element's panel is (k, rows).
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/cpu/loops/panel.h"

namespace inferno::kernels {
namespace {

template <class V>
struct ElementF32 {
  using Stored = float;
  static typename V::F load(const uint8_t* panel, int64_t j) {
    return V::load(reinterpret_cast<const float*>(panel) + j * V::kLanes);
  }
};

template <class V>
struct ElementF16 {
  using Stored = uint16_t;
  static typename V::F load(const uint8_t* panel, int64_t j) {
    return V::load_f16(reinterpret_cast<const uint16_t*>(panel) + j * V::kLanes);
  }
};

template <class V>
struct ElementBF16 {
  using Stored = uint16_t;
  static typename V::F load(const uint8_t* panel, int64_t j) {
    return V::load_bf16(reinterpret_cast<const uint16_t*>(panel) + j * V::kLanes);
  }
};

template <class V, class Element>
int64_t float_panel_bytes(int64_t k) {
  return (k * V::kLanes * static_cast<int64_t>(sizeof(typename Element::Stored)) + 63) / 64 * 64;
}

template <class V, class Element>
void pack_float(const uint8_t* w, int64_t stride, int64_t n_rows, int64_t k, uint8_t* panel) {
  using Stored = typename Element::Stored;
  constexpr auto kBytes = static_cast<int64_t>(sizeof(Stored));
  if (n_rows < V::kLanes) std::memset(panel, 0, static_cast<size_t>(k * V::kLanes * kBytes));
  for (int64_t row = 0; row < n_rows; ++row) {
    for (int64_t j = 0; j < k; ++j)
      std::memcpy(panel + (j * V::kLanes + row) * kBytes, w + row * stride + j * kBytes, kBytes);
  }
}

// kPanels panels, from number `panel` on by `step`, times kRows rows of activations, from row r on.
template <class V, class Element, int kPanels, int kRows>
void multiply_float_tile(const PanelMatmulParams& p, const uint8_t* const (&panels)[kPanels], int64_t panel,
                         int64_t step, int64_t r) {
  using F = typename V::F;
  const float* x[kRows];
  F y[kPanels][kRows];
#pragma GCC unroll 8
  for (int t = 0; t < kRows; ++t) {
    x[t] = p.x + (r + t) * p.k;
#pragma GCC unroll 4
    for (int i = 0; i < kPanels; ++i) y[i][t] = V::zero();
  }
  for (int64_t j = 0; j < p.k; ++j) {
    F w[kPanels];
#pragma GCC unroll 4
    for (int i = 0; i < kPanels; ++i) w[i] = Element::load(panels[i], j);
#pragma GCC unroll 8
    for (int t = 0; t < kRows; ++t) {
      const F xj = V::set(x[t][j]);
#pragma GCC unroll 4
      for (int i = 0; i < kPanels; ++i) y[i][t] = V::fma(w[i], xj, y[i][t]);
    }
  }
  store_outputs<V>(p, y, panel, step, r);
}

template <class V, class Element, int kPanels, int kRows>
void multiply_float_rest(const PanelMatmulParams& p, const uint8_t* const (&panels)[kPanels], int64_t panel,
                         int64_t step, int64_t r) {
  if constexpr (kRows > 0) {
    if (p.n - r == kRows) return multiply_float_tile<V, Element, kPanels, kRows>(p, panels, panel, step, r);
    multiply_float_rest<V, Element, kPanels, kRows - 1>(p, panels, panel, step, r);
  }
}

template <class V, class Element, int kPanels>
void multiply_float_panels(const PanelMatmulParams& p, int64_t panel, int64_t step = 1) {
  const uint8_t* panels[kPanels];
  for (int i = 0; i < kPanels; ++i)
    panels[i] = p.panels + (panel + i * step) * float_panel_bytes<V, Element>(p.k);
  int64_t r = 0;
  for (; p.n - r >= V::kFloatTileRows; r += V::kFloatTileRows) {
    multiply_float_tile<V, Element, kPanels, V::kFloatTileRows>(p, panels, panel, step, r);
  }
  multiply_float_rest<V, Element, kPanels, V::kFloatTileRows - 1>(p, panels, panel, step, r);
}

// Few rows of activations: kFloatStreams panels far apart at a time. Each is read in order, and their sums
// do not wait for each other.
constexpr int kFloatStreams = 4;
template <class V, class Element>
void multiply_float_streams(const PanelMatmulParams& p) {
  const int64_t step = (p.panel_end - p.panel_begin) / kFloatStreams;
  for (int64_t panel = p.panel_begin; panel < p.panel_begin + step; ++panel)
    multiply_float_panels<V, Element, kFloatStreams>(p, panel, step);
  for (int64_t panel = p.panel_begin + kFloatStreams * step; panel < p.panel_end; ++panel)
    multiply_float_panels<V, Element, 1>(p, panel);
}

template <class V, class Element>
void multiply_float(const PanelMatmulParams& p) {
  if (p.n <= kStreamedRows) return multiply_float_streams<V, Element>(p);
  int64_t panel = p.panel_begin;
  for (; p.panel_end - panel >= V::kFloatTilePanels; panel += V::kFloatTilePanels) {
    multiply_float_panels<V, Element, V::kFloatTilePanels>(p, panel);
  }
  for (; panel < p.panel_end; ++panel) multiply_float_panels<V, Element, 1>(p, panel);
}

}  // namespace
}  // namespace inferno::kernels
