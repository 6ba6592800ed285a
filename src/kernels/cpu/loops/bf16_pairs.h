// Elements of products that dot products of two bfloat16 make: weights in BF16, activations rounded to it.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/cpu/loops/panel_float.h"
#include "kernels/cpu/loops/rows.h"
#include "kernels/cpu/params.h"

namespace inferno::kernels {
namespace {

// Two neighbouring elements of each row are 32 bits of a panel: (ceil(k / 2), rows, 2).
template <class V>
struct ElementBf16Pair {
  using Stored = uint32_t;
  using W = typename V::I;
  static constexpr int64_t kStep = 2;

  static W load(const uint8_t* panel, int64_t step) { return V::load_bytes(panel + step * 4 * V::kLanes); }
  static const uint16_t* row(const PanelMatmulParams& p, int64_t r) { return p.bf16 + r * bf16_stride(p.k); }
  static W factor(const uint16_t* x, int64_t step) {
    int32_t pair;
    std::memcpy(&pair, x + 2 * step, sizeof pair);
    return V::set_i32(pair);
  }
  static typename V::F add_product(W w, W x, typename V::F sum) { return V::add_bf16_products(w, x, sum); }
  static typename V::F set(const uint16_t* x, int64_t j) { return V::set_bf16(x[j]); }
};

template <class V>
void pack_bf16_pairs(const uint8_t* w, int64_t stride, int64_t n_rows, int64_t k, uint8_t* panel) {
  constexpr int64_t kCols = 16, kPairs = kCols / 2;  // V::transpose_quads takes 32 bytes of each row
  uint8_t padded[V::kLanes * kCols * 2];
  for (int64_t j = 0; j < k; j += kCols) {
    const uint8_t* rows = w + j * 2;
    int64_t rows_stride = stride;
    const int64_t cols = k - j < kCols ? k - j : kCols;
    if (n_rows < V::kLanes || cols < kCols) {
      std::memset(padded, 0, sizeof padded);
      for (int64_t row = 0; row < n_rows; ++row)
        std::memcpy(padded + row * kCols * 2, rows + row * stride, static_cast<size_t>(cols * 2));
      rows = padded;
      rows_stride = kCols * 2;
    }
    typename V::I pairs[kPairs];
    V::transpose_quads(rows, rows_stride, pairs);
    for (int64_t i = 0; i < kPairs && 2 * i < cols; ++i)
      V::store_bytes(panel + (j / 2 + i) * 4 * V::kLanes, pairs[i]);
  }
}

// Bf16Params.
template <class V>
void to_bf16_rows(const Bf16Params& p) {
  for (int64_t r = 0; r < p.n_rows; ++r) {
    const float* x = p.x + r * p.k;
    uint16_t* const to = p.rows + (p.row + r) * bf16_stride(p.k) + p.col;
    for_vectors<V>(p.n_cols, [&](int64_t i, int64_t lanes) {
      V::store_nearest_bf16(to + i, load_lanes<V>(x + i, lanes), lanes);
    });
    if (p.col + p.n_cols < p.k) continue;
    std::memset(to + p.n_cols, 0, static_cast<size_t>(bf16_stride(p.k) - p.k) * 2);
  }
}

}  // namespace
}  // namespace inferno::kernels
