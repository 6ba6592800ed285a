// Tiles of products of quantized weights in panels and activations in 8 bits, over an ISA's vector V and its
// Products, or where it adds up products in 16 bits (sums_in_words()) over V alone; quantized_product.h and
// spread_product.h make whole products of them. A panel has as many rows as V has lanes.
//
// A Format is how a weight type lies in a panel:
//   kGroup                       elements of a row that share a scale: 32 or 16
//   kHasMin                      w = scale * q + min, else w = scale * q
//   kOffset                      what bytes() adds to q
//   kMost                        the most that bytes() may be, where that is unsigned and less than a byte
//   kUnitBlocks                  blocks of 32 that share what Scales() prepares
//   panel(p, i)                  where panel i lies, if that is not one piece of memory (planes.h)
//   block(panel, b)              where block b of every row lies
//   bytes(block, g)              vector g of its eight: see Products::place()
//   Scales::load(panel, nb, b)   prepares those of the unit that begins with block b, of nb in all
//   Scales::scale(j, i)          of group i of its block j, a lane per row; min() likewise
#pragma once

#include <cstdint>

#include "kernels/cpu/loops/fetcher.h"
#include "kernels/cpu/loops/panel.h"
#include "kernels/cpu/loops/products.h"
#include "kernels/cpu/loops/stream.h"

namespace inferno::kernels {
namespace {

constexpr int64_t kBlockVectors = kBlock / 4;

// Of a format whose values are stored from 0 up, where `offset` stands for 0: what bytes() leaves for
// start_of_sum() to take back, all of it or nothing.
template <class V>
constexpr int stored_offset(int offset) {
  return offset <= V::kLargestOffset ? offset : 0;
}

template <class V, int kBy>
typename V::I move_bytes(typename V::I q) {
  if constexpr (kBy == 0) {
    return q;
  } else {
    return V::add_bytes(q, kBy);
  }
}

// What takes back the format's offset from a sum of products: -offset * sum of x.
template <class V, int kOffset>
typename V::I start_of_sum(int32_t minus_128_sums) {
  if constexpr (kOffset == 0) {
    return V::zero_i32();
  } else {
    constexpr int kShift = __builtin_ctz(128 / kOffset);
    return V::template shift_right_i32<kShift>(V::set_i32(minus_128_sums));
  }
}

// Where panel i lies.
template <class Format>
auto panel_at(const PanelMatmulParams& p, int64_t i) {
  if constexpr (requires { Format::panel(p, i); }) {
    return Format::panel(p, i);
  } else {
    return p.panels + i * Format::panel_bytes(p.k);
  }
}

// Of n_panels panels of the weights, from panel i on; from p.next on after the last.
template <class AnyFetcher, class Format>
auto fetcher_of(const PanelMatmulParams& p, int64_t i, int64_t n_panels, int64_t n_tiles, int64_t n_steps) {
  if constexpr (requires { Format::panel(p, i); }) {
    return Format::template fetcher<AnyFetcher>(p, i, n_panels, n_tiles, n_steps);
  } else {
    const int64_t bytes = Format::panel_bytes(p.k);
    const uint8_t* begin = i < p.panel_end ? p.panels + i * bytes : p.next;
    return AnyFetcher(begin, n_panels * bytes, n_tiles, n_steps);
  }
}

// Of the thread's next turn, while each panel of this one is multiplied in one tile.
template <class Format>
auto fetcher_of_next_turn(const PanelMatmulParams& p) {
  const int64_t n_tiles = p.panel_end - p.panel_begin;
  if constexpr (requires { Format::panel(p, 0); }) {
    const int64_t n_panels = p.next_bytes / Format::upper_bytes(p.k);
    return Format::template fetcher<TurnFetcher>(p, p.panel_end, n_panels, n_tiles, p.k / kBlock);
  } else {
    return TurnFetcher(p.next, p.next_bytes, n_tiles, p.k / kBlock);
  }
}

// Whether an ISA multiplies unsigned bytes by signed ones and adds up pairs of products in 16 bits.
template <class V>
constexpr bool sums_in_words() {
  if constexpr (requires { V::kSumsInWords; }) {
    return V::kSumsInWords;
  } else {
    return false;
  }
}

// Of how many vectors of weights such sums still fit, as activations are from -127 to 127; 0: of none.
template <class V, class Format>
constexpr int vectors_in_words() {
  if constexpr (sums_in_words<V>() && requires { Format::kMost; }) {
    return INT16_MAX / (2 * 127 * Format::kMost);
  } else {
    return 0;
  }
}

// kRows rows of activations where quantize_rows put them, from row r on.
template <class V, class Format, int kRows>
struct RowsInPlace {
  static constexpr int kGroups = kBlock / Format::kGroup;
  const int8_t* q[kRows];
  const float* scales[kRows];
  const int32_t* sums[kRows];
  const float* totals[kRows];

  [[gnu::always_inline]] RowsInPlace(const PanelMatmulParams& p, int64_t r) {
    const int64_t nb = p.k / kBlock;
#pragma GCC unroll 8
    for (int t = 0; t < kRows; ++t) {
      q[t] = p.quantized.q + (r + t) * p.k;
      scales[t] = p.quantized.scale + (r + t) * nb;
      sums[t] = kGroups == 1 ? p.quantized.sum + (r + t) * nb : p.quantized.half + (r + t) * nb * 2;
      totals[t] = (kGroups == 1 ? p.quantized.total : p.quantized.half_total) + (r + t) * nb * kGroups;
    }
  }
  // Four elements again and again: of row t, block b, those that meet vector v of its weights.
  typename V::I quad(int t, int64_t b, int v) const {
    return V::repeat4(q[t] + b * kBlock + v * 4);
  }
  typename V::F scale(int t, int64_t b) const {
    return V::set(scales[t][b]);
  }
  // What takes back the format's offset from the sum of a group.
  typename V::I start(int t, int64_t b, int group) const {
    return start_of_sum<V, Format::kOffset>(sums[t][b * kGroups + group]);
  }
  typename V::F total(int t, int64_t b, int group) const {
    return V::set(totals[t][b * kGroups + group]);
  }
};

// The integer part: sums of the products of one group of block b, from what takes back the offset on.
template <class V, class Format, int kPanels, int kRows, class Place>
[[gnu::always_inline]] inline void multiply_group(
    const Place (&blocks)[kPanels], int64_t b, int group, const RowsInPlace<V, Format, kRows>& x,
    typename Products<V>::Sum (&sums)[kPanels][RowSums<V, kRows>::kSums]) {
  using I = typename V::I;
  using Rows = RowSums<V, kRows>;
  constexpr int kVectors = Products<V>::kVectors;
  constexpr int kSteps = Format::kGroup / 4 / kVectors;
#pragma GCC unroll 8
  for (int s = 0; s < Rows::kSums; ++s) {
    const I first = x.start(Rows::first(s), b, group);
    const I last = x.start(Rows::last(s), b, group);
#pragma GCC unroll 4
    for (int i = 0; i < kPanels; ++i) sums[i][s] = Products<V>::start(first, last);
  }
#pragma GCC unroll 8
  for (int step = group * kSteps; step < (group + 1) * kSteps; ++step) {
    I w[kPanels][kVectors];
#pragma GCC unroll 4
    for (int i = 0; i < kPanels; ++i) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) w[i][v] = Format::bytes(blocks[i], step * kVectors + v);
    }
    const int64_t at = b * kBlock + step * kVectors * 4;
#pragma GCC unroll 8
    for (int s = 0; s < Rows::kSums; ++s) {
      const auto quads = Products<V>::load(x.q[Rows::first(s)] + at, x.q[Rows::last(s)] + at);
#pragma GCC unroll 4
      for (int i = 0; i < kPanels; ++i) Products<V>::add(sums[i][s], w[i], quads);
    }
  }
}

// The same where sums of pairs fit into 16 bits. What takes back the offset comes last, so that no register
// waits for it.
template <class V, class Format, int kPanels, int kRows, class Place, class Rows>
[[gnu::always_inline]] inline void multiply_group_in_words(const Place (&blocks)[kPanels], int64_t b,
                                                           int group, const Rows& x,
                                                           typename V::I (&sums)[kPanels][kRows]) {
  using I = typename V::I;
  constexpr int kVectors = Format::kGroup / 4;
  constexpr int kInWords = vectors_in_words<V, Format>();
  I words[kPanels][kRows];
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) {
    I w[kPanels];
#pragma GCC unroll 4
    for (int i = 0; i < kPanels; ++i) w[i] = Format::bytes(blocks[i], group * kVectors + v);
#pragma GCC unroll 8
    for (int t = 0; t < kRows; ++t) {
      const I quad = x.quad(t, b, group * kVectors + v);
#pragma GCC unroll 4
      for (int i = 0; i < kPanels; ++i) {
        const I pairs = V::multiply_pairs(w[i], quad);
        words[i][t] = v % kInWords == 0 ? pairs : V::add_i16(words[i][t], pairs);
        if (v % kInWords != kInWords - 1 && v != kVectors - 1) continue;
        sums[i][t] = V::add_pairs(v < kInWords ? V::zero_i32() : sums[i][t], words[i][t]);
      }
    }
  }
  if constexpr (Format::kOffset > 0) {
#pragma GCC unroll 8
    for (int t = 0; t < kRows; ++t) {
      const I start = x.start(t, b, group);
#pragma GCC unroll 4
      for (int i = 0; i < kPanels; ++i) sums[i][t] = V::add_i32(sums[i][t], start);
    }
  }
}

// The same of UnpackedMagnitudes (quantized_product.h).
template <class V, class Format, int kPanels, int kRows, class Place, class Rows>
[[gnu::always_inline]] inline void multiply_magnitudes(const Place (&blocks)[kPanels], int64_t b,
                                                       const Rows& x, typename V::I (&sums)[kPanels][kRows]) {
  using I = typename V::I;
#pragma GCC unroll 4
  for (int i = 0; i < kPanels; ++i) {
#pragma GCC unroll 8
    for (int t = 0; t < kRows; ++t) sums[i][t] = Format::sum_below_zero(blocks[i]);
  }
#pragma GCC unroll 8
  for (int v = 0; v < kBlockVectors; ++v) {
    I w[kPanels];
    I sign[kPanels];
#pragma GCC unroll 4
    for (int i = 0; i < kPanels; ++i) {
      w[i] = Format::bytes(blocks[i], v);
      sign[i] = Format::signs(blocks[i], v);
    }
#pragma GCC unroll 8
    for (int t = 0; t < kRows; ++t) {
      const I quad = x.quad(t, b, v);
#pragma GCC unroll 4
      for (int i = 0; i < kPanels; ++i)
        sums[i][t] = V::add_pairs(sums[i][t], V::multiply_pairs(w[i], V::xor_i32(quad, sign[i])));
    }
  }
}

// Adds to y the products of all nb blocks of the panels, which may be unpacked parts of panels, and as many
// of kRows rows of activations.
template <class V, class Format, int kPanels, int kRows, class Place, class Rows, class AnyFetch>
[[gnu::always_inline]] inline void add_products(const Place (&panels)[kPanels], int64_t nb, const Rows& x,
                                                AnyFetch& fetch, typename V::F (&y)[kPanels][kRows]) {
  using F = typename V::F;
  constexpr int kGroups = kBlock / Format::kGroup;
  for (int64_t unit = 0; unit < nb; unit += Format::kUnitBlocks) {
    typename Format::Scales scales[kPanels];
#pragma GCC unroll 4
    for (int i = 0; i < kPanels; ++i) scales[i].load(panels[i], nb, unit);
    for (int64_t j = 0; j < Format::kUnitBlocks; ++j) {
      const int64_t b = unit + j;
      fetch.step();
      decltype(Format::block(panels[0], b)) blocks[kPanels];
#pragma GCC unroll 4
      for (int i = 0; i < kPanels; ++i) blocks[i] = Format::block(panels[i], b);
#pragma GCC unroll 2
      for (int group = 0; group < kGroups; ++group) {
        typename Products<V>::Sum sums[kPanels][RowSums<V, kRows>::kSums];
        static_assert(!sums_in_words<V>() || (Products<V>::kRows == 1 && Products<V>::kVectors == 1));
        if constexpr (requires { Format::signs(blocks[0], 0); }) {
          multiply_magnitudes<V, Format>(blocks, b, x, sums);
        } else if constexpr (vectors_in_words<V, Format>() > 0) {
          multiply_group_in_words<V, Format>(blocks, b, group, x, sums);
        } else {
          multiply_group<V, Format>(blocks, b, group, x, sums);
        }
#pragma GCC unroll 4
        for (int i = 0; i < kPanels; ++i) {
          const F w_scale = scales[i].scale(j, group);
#pragma GCC unroll 8
          for (int t = 0; t < kRows; ++t) {
            const F scale = V::mul(w_scale, x.scale(t, b));
            const auto sum = Products<V>::total(sums[i][t / Products<V>::kRows], t % Products<V>::kRows);
            y[i][t] = V::fma(V::to_float(sum), scale, y[i][t]);
          }
          if constexpr (Format::kHasMin) {
            const F w_min = scales[i].min(j, group);
#pragma GCC unroll 8
            for (int t = 0; t < kRows; ++t) y[i][t] = V::fma(w_min, x.total(t, b, group), y[i][t]);
          }
        }
      }
    }
  }
}

// kPanels panels, from number `panel` on, times kRows rows of activations, from row r on.
template <class V, class Format, int kPanels, int kRows, class Place, class AnyFetch>
void multiply_tile(const PanelMatmulParams& p, const Place (&panels)[kPanels], int64_t panel, int64_t r,
                   AnyFetch fetch) {
  const RowsInPlace<V, Format, kRows> x(p, r);
  typename V::F y[kPanels][kRows];
#pragma GCC unroll 4
  for (int i = 0; i < kPanels; ++i) {
#pragma GCC unroll 8
    for (int t = 0; t < kRows; ++t) y[i][t] = V::zero();
  }
  hint_outputs<V, kPanels, kRows>(p, panel, r);
  add_products<V, Format>(panels, p.k / kBlock, x, fetch, y);
  store_outputs<V>(p, y, panel, r);
}

// The rows that are left, fewer than kRows + 1, in one tile.
template <class V, class Format, int kPanels, int kRows, class Place, class AnyFetch>
void multiply_rest(const PanelMatmulParams& p, const Place (&panels)[kPanels], int64_t panel, int64_t r,
                   AnyFetch fetch) {
  if constexpr (kRows > 0) {
    if (p.n - r == kRows) return multiply_tile<V, Format, kPanels, kRows>(p, panels, panel, r, fetch);
    multiply_rest<V, Format, kPanels, kRows - 1>(p, panels, panel, r, fetch);
  }
}

// kTileRows: the most rows of activations in a tile. The first panel's bytes begin at `first`, the others'
// each `stride` bytes later.
template <class V, class Format, int kPanels, int kTileRows, class AnyFetcher>
void multiply_tiles(const PanelMatmulParams& p, int64_t panel, const uint8_t* first, int64_t stride,
                    AnyFetcher fetcher) {
  const uint8_t* panels[kPanels];
  for (int i = 0; i < kPanels; ++i) panels[i] = first + i * stride;
  int64_t r = 0;
  for (; p.n - r >= kTileRows; r += kTileRows)
    multiply_tile<V, Format, kPanels, kTileRows>(p, panels, panel, r, fetcher.next_tile());
  multiply_rest<V, Format, kPanels, kTileRows - 1>(p, panels, panel, r, fetcher.next_tile());
}

// Rows of a tile where there are many: one more where that still fits into the registers.
template <class V>
constexpr int many_tile_rows() {
  if constexpr (requires { V::kManyTileRows; }) {
    return V::kManyTileRows;
  } else {
    return V::kTileRows;
  }
}

// What is fetched meanwhile: the kPanels panels that come next, as the weights have them, in the format
// Packed.
template <class V, class Format, int kPanels, class Packed>
void multiply_panels(const PanelMatmulParams& p, int64_t panel, const uint8_t* first, int64_t stride) {
  const int64_t next = panel + kPanels;
  const int64_t n_tiles = (p.n + V::kTileRows - 1) / V::kTileRows;
  if (n_tiles <= kHurriedTiles) {
    multiply_tiles<V, Format, kPanels, V::kTileRows>(
        p, panel, first, stride, fetcher_of<PanelsFetcher, Packed>(p, next, kPanels, n_tiles, p.k / kBlock));
  } else {
    constexpr int kRows = many_tile_rows<V>();
    const int64_t n_larger = (p.n + kRows - 1) / kRows;
    multiply_tiles<V, Format, kPanels, kRows>(
        p, panel, first, stride, fetcher_of<Fetcher, Packed>(p, next, kPanels, n_larger, p.k / kBlock));
  }
}

// Of panels in runs that begin `to_next` bytes apart, a panel's bytes in n_steps steps.
template <int kRuns>
LinesAhead<kRuns> lines_ahead(const uint8_t* first, int64_t to_next, int64_t bytes, int64_t n_steps,
                              int64_t ahead) {
  return {first + ahead, to_next, (bytes + n_steps - 1) / n_steps};
}
// The same of `panel` and the one beside it.
template <int kRuns, class Format>
auto lines_ahead_of(const PanelMatmulParams& p, int64_t panel, int64_t ahead) {
  const auto first = panel_at<Format>(p, panel);
  if constexpr (requires { Format::panel(p, panel); }) {
    return Format::template lines_ahead<kRuns>(p, first, p.k / kBlock, ahead);
  } else {
    const int64_t bytes = Format::panel_bytes(p.k);
    return lines_ahead<kRuns>(first, p.run_step * bytes, bytes, p.k / kBlock, ahead);
  }
}

// Whether few rows of activations may take two runs of panels of quantized weights.
template <class V>
constexpr bool takes_two_runs() {
  if constexpr (requires { V::kTakesTwoRuns; }) {
    return V::kTakesTwoRuns;
  } else {
    return true;
  }
}

// Few rows of activations, several runs of panels.
template <class V, class Format>
void multiply_runs(const PanelMatmulParams& p) {
  for_tiles_of_runs(p, [&]<int kRuns>(int64_t panel) {
    decltype(panel_at<Format>(p, 0)) places[kRuns];
    for (int i = 0; i < kRuns; ++i) places[i] = panel_at<Format>(p, panel + i * p.run_step);
    const auto multiply = [&](auto fetch) {
      multiply_rest<V, Format, kRuns, kStreamedRows>(p, places, panel, 0, fetch);
    };
    if (!p.runs_ask_ahead) return multiply(NoFetch{});
    if constexpr (requires { Format::kIsBytes; }) {
      const int64_t bytes = Format::panel_bytes(p.k);
      multiply(PagesAhead<kRuns>{places[0], p.run_step * bytes, bytes / (p.k / kBlock)});
    } else {
      multiply(lines_ahead_of<kRuns, Format>(p, panel, kLinesAhead));
    }
  });
}

// Few rows of activations: in two runs, or one panel after the other, while those of the next turn are
// fetched.
template <class V, class Format>
void multiply_stream(const PanelMatmulParams& p) {
  if constexpr (takes_two_runs<V>()) {
    if (p.run_step != 0) return multiply_runs<V, Format>(p);
  }
  auto fetcher = fetcher_of_next_turn<Format>(p);
  for (int64_t panel = p.panel_begin; panel < p.panel_end; ++panel) {
    const auto first = panel_at<Format>(p, panel);
    multiply_rest<V, Format, 1, kStreamedRows>(p, {first}, panel, 0, fetcher.next_tile());
  }
}

}  // namespace
}  // namespace inferno::kernels
