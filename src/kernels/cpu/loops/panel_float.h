// Products of floating-point weights in panels. An element's panel is (k, rows), that of several at a time as
// their Element says.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/cpu/loops/fetcher.h"
#include "kernels/cpu/loops/panel.h"

namespace inferno::kernels {
namespace {

// Elements that are multiplied one by one, with activations in float32.
template <class V>
struct OneElement {
  using W = typename V::F;
  static constexpr int64_t kStep = 1;  // of a row in a vector of weights

  static const float* row(const PanelMatmulParams& p, int64_t r) { return p.x + r * p.k; }
  // What a step's weights are multiplied by, and how; one element of the row.
  static W factor(const float* x, int64_t step) { return V::set(x[step]); }
  static W add_product(W w, W x, W sum) { return V::fma(w, x, sum); }
  static W set(const float* x, int64_t j) { return V::set(x[j]); }
};

template <class V>
struct ElementF32 : OneElement<V> {
  using Stored = float;
  static typename V::F load(const uint8_t* panel, int64_t j) {
    return V::load(reinterpret_cast<const float*>(panel) + j * V::kLanes);
  }
};

template <class V>
struct ElementF16 : OneElement<V> {
  using Stored = uint16_t;
  static typename V::F load(const uint8_t* panel, int64_t j) {
    return V::load_f16(reinterpret_cast<const uint16_t*>(panel) + j * V::kLanes);
  }
};

template <class V>
struct ElementBF16 : OneElement<V> {
  using Stored = uint16_t;
  static typename V::F load(const uint8_t* panel, int64_t j) {
    return V::load_bf16(reinterpret_cast<const uint16_t*>(panel) + j * V::kLanes);
  }
};

template <class Element>
int64_t steps_of(int64_t k) {
  return (k + Element::kStep - 1) / Element::kStep;
}

template <class V, class Element>
int64_t float_panel_bytes(int64_t k) {
  return (steps_of<Element>(k) * V::kLanes * static_cast<int64_t>(sizeof(typename Element::Stored)) + 63) /
         64 * 64;
}

template <class V, class Element>
void pack_float(const uint8_t* w, int64_t stride, int64_t n_rows, int64_t k, uint8_t* panel) {
  using Stored = typename Element::Stored;
  constexpr auto kBytes = static_cast<int64_t>(sizeof(Stored));
  const int64_t written = n_rows < V::kLanes ? 0 : k * V::kLanes * kBytes;
  std::memset(panel + written, 0, static_cast<size_t>(float_panel_bytes<V, Element>(k) - written));
  int64_t first = 0;
  if constexpr (kBytes == 2 && requires { V::transpose_quads; }) {
    constexpr int64_t kCols = 16;  // two in each quad
    for (; n_rows == V::kLanes && k - first >= kCols; first += kCols) {
      typename V::I pairs[kCols / 2];
      V::transpose_quads(w + first * kBytes, stride, pairs);
#pragma GCC unroll 8
      for (int64_t i = 0; i < kCols / 2; ++i)
        V::store_bytes(panel + (first + 2 * i) * V::kLanes * kBytes, V::even_then_odd_i16(pairs[i]));
    }
  }
  for (int64_t row = 0; row < n_rows; ++row) {
    for (int64_t j = first; j < k; ++j)
      std::memcpy(panel + (j * V::kLanes + row) * kBytes, w + row * stride + j * kBytes, kBytes);
  }
}

// What is fetched in so many steps.
constexpr int64_t kFetchSteps = 8;
template <class Element>
int64_t fetches_of(int64_t k) {
  const int64_t n = steps_of<Element>(k) / kFetchSteps;
  return n < 1 ? 1 : n;
}
template <class AnyFetch>
struct FloatFetch : AnyFetch {
  static constexpr bool kFetches = true;
};

// Where a tile's panels lie: the first one, and how far apart they are.
struct FloatPanels {
  const uint8_t* first;
  int64_t step;
};
template <class V, class Element>
FloatPanels float_panels_at(const PanelMatmulParams& p, int64_t panel) {
  const int64_t bytes = float_panel_bytes<V, Element>(p.k);
  return {p.panels + panel * bytes, panel_step(p) * bytes};
}

// Before sums are stored: nothing is left to do.
struct NothingLeft {
  template <class X, class Y>
  void operator()(const X&, const Y&) const {}
};

// kPanels panels, from number `panel` on, times kRows rows of activations, from row r on.
template <class V, class Element, int kPanels, int kRows, class AnyFetch, class Finish>
void multiply_float_tile(const PanelMatmulParams& p, const FloatPanels& at, int64_t panel, int64_t r,
                         AnyFetch fetch, const Finish& finish) {
  using F = typename V::F;
  const uint8_t* panels[kPanels];
  decltype(Element::row(p, 0)) x[kRows];
  F y[kPanels][kRows];
#pragma GCC unroll 4
  for (int i = 0; i < kPanels; ++i) panels[i] = at.first + i * at.step;
#pragma GCC unroll 8
  for (int t = 0; t < kRows; ++t) {
    x[t] = Element::row(p, r + t);
#pragma GCC unroll 4
    for (int i = 0; i < kPanels; ++i) y[i][t] = V::zero();
  }
  const auto add_products = [&](int64_t j) __attribute__((always_inline)) {
    typename Element::W w[kPanels];
#pragma GCC unroll 4
    for (int i = 0; i < kPanels; ++i) w[i] = Element::load(panels[i], j);
#pragma GCC unroll 8
    for (int t = 0; t < kRows; ++t) {
      const auto xj = Element::factor(x[t], j);
#pragma GCC unroll 4
      for (int i = 0; i < kPanels; ++i) y[i][t] = Element::add_product(w[i], xj, y[i][t]);
    }
  };
  hint_outputs<V, kPanels, kRows>(p, panel, r);
  const int64_t n_steps = steps_of<Element>(p.k);
  int64_t j = 0;
  if constexpr (AnyFetch::kFetches) {
    for (; j + kFetchSteps <= n_steps; j += kFetchSteps) {
      fetch.step();
#pragma GCC unroll 8
      for (int64_t i = 0; i < kFetchSteps; ++i) add_products(j + i);
    }
  }
  for (; j < n_steps; ++j) add_products(j);
  finish(x, y);
  store_outputs<V>(p, y, panel, r);
}

// The rows that are left, fewer than kRows + 1, in one tile.
template <class V, class Element, int kPanels, int kRows, class AnyFetch, class Finish = NothingLeft>
void multiply_float_rest(const PanelMatmulParams& p, const FloatPanels& at, int64_t panel, int64_t r,
                         AnyFetch fetch, const Finish& finish = {}) {
  if constexpr (kRows > 0) {
    if (p.n - r == kRows)
      return multiply_float_tile<V, Element, kPanels, kRows>(p, at, panel, r, fetch, finish);
    multiply_float_rest<V, Element, kPanels, kRows - 1>(p, at, panel, r, fetch, finish);
  }
}

template <class V, class Element, int kPanels, class Finish = NothingLeft>
void multiply_float_panels(const PanelMatmulParams& p, const FloatPanels& at, int64_t panel,
                           const Finish& finish = {}) {
  int64_t r = 0;
  for (; p.n - r >= V::kFloatTileRows; r += V::kFloatTileRows)
    multiply_float_tile<V, Element, kPanels, V::kFloatTileRows>(p, at, panel, r, NoFetch(), finish);
  multiply_float_rest<V, Element, kPanels, V::kFloatTileRows - 1>(p, at, panel, r, NoFetch(), finish);
}

// Of few rows of activations, side by side: as many as keep the multipliers busy, since each sum waits for
// itself, and no more, since each is a stream through memory.
template <class V, class Element>
constexpr int streamed_float_panels() {
  constexpr auto kPanels = static_cast<int>(
      64 * Element::kStep / (V::kLanes * static_cast<int64_t>(sizeof(typename Element::Stored))));
  return kPanels < 1 ? 1 : kPanels > 4 ? 4 : kPanels;
}

// Several runs of panels.
template <class V, class Element>
void multiply_float_runs(const PanelMatmulParams& p) {
  const int64_t bytes = float_panel_bytes<V, Element>(p.k);
  const int64_t n_steps = fetches_of<Element>(p.k);
  for_tiles_of_runs(p, [&]<int kRuns>(int64_t panel) {
    const auto multiply = [&](auto fetch) {
      multiply_float_rest<V, Element, kRuns, kStreamedRows>(p, float_panels_at<V, Element>(p, panel), panel,
                                                            0, FloatFetch<decltype(fetch)>{fetch});
    };
    if (!p.runs_ask_ahead) return multiply(NoFetch{});
    multiply(PagesAhead<kRuns>{p.panels + panel * bytes, p.run_step * bytes, bytes / n_steps});
  });
}

template <class V, class Element>
void multiply_float_stream(const PanelMatmulParams& p) {
  if (p.run_step != 0) return multiply_float_runs<V, Element>(p);
  constexpr int kPanels = streamed_float_panels<V, Element>();
  const int64_t n_panels = p.panel_end - p.panel_begin;
  TurnFetcher fetcher(p.next, p.next_bytes, n_panels / kPanels + n_panels % kPanels,
                      fetches_of<Element>(p.k));
  const auto multiply = [&]<int kTile>(int64_t panel) {
    using TurnFetch = FloatFetch<StreamsFetch<kStreamsOfTurn>>;
    multiply_float_rest<V, Element, kTile, kStreamedRows>(p, float_panels_at<V, Element>(p, panel), panel, 0,
                                                          TurnFetch{fetcher.next_tile()});
  };
  int64_t panel = p.panel_begin;
  for (; p.panel_end - panel >= kPanels; panel += kPanels) multiply.template operator()<kPanels>(panel);
  for (; panel < p.panel_end; ++panel) multiply.template operator()<1>(panel);
}

template <class V, class Element>
void multiply_float(const PanelMatmulParams& p) {
  if (p.n <= kStreamedRows) return multiply_float_stream<V, Element>(p);
  int64_t panel = p.panel_begin;
  for (; p.panel_end - panel >= V::kFloatTilePanels; panel += V::kFloatTilePanels)
    multiply_float_panels<V, Element, V::kFloatTilePanels>(p, float_panels_at<V, Element>(p, panel), panel);
  for (; panel < p.panel_end; ++panel)
    multiply_float_panels<V, Element, 1>(p, float_panels_at<V, Element>(p, panel), panel);
}

}  // namespace
}  // namespace inferno::kernels
