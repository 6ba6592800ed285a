// Products of weights of 16 bits. Activations are sums of several such numbers each, so that nothing is lost
// of them that matters, and tiles sum the products in float32, 32 elements of a row at a time. So an output
// does not depend on how many rows there are.
//
// A Kind is
//   kParts                   of an activation: two or three
//   tiles(p)                 of activations: (ceil(n / 16), blocks, kParts, 16 rows, 32 columns)
//   kType                    what tiles multiply
//   scaled(p, row, sums)     what a row's sums stand for
//
// A panel is, for each 32 elements, zeros after the last, one tile B: (16 pairs of elements, 16 rows, 2). Or
// what that can be made of; Panels say where a panel's tiles are:
//   panel_bytes(k)
//   scratch_bytes(k)                    for panels number 0 and 1 of those multiplied at once
//   once(panel, k, scratch, number)     tiles that are asked for in order, once
//   first(panel, k, scratch, number)    … that are asked for again
//   again(panel, k, scratch, number)    the same
#pragma once

#include <cstring>

#include "kernels/cpu/amx/tiles.h"
#include "kernels/cpu/loops/fetcher.h"
#include "kernels/cpu/params.h"

namespace inferno::kernels {
namespace {

constexpr int64_t kTileElements = 32;  // of a row, in a tile
constexpr int64_t kTileBytes = 16 * kTileLine;

struct TilesInPlace {
  const uint8_t* first;
  const uint8_t* tile(int64_t block) const { return first + block * kTileBytes; }
};

// Panels that are tiles.
struct PanelsOfTiles {
  static int64_t panel_bytes(int64_t k) { return (k + kTileElements - 1) / kTileElements * kTileBytes; }
  static int64_t scratch_bytes(int64_t) { return 0; }
  static TilesInPlace once(const uint8_t* panel, int64_t, uint8_t*, int64_t) { return {panel}; }
  static TilesInPlace first(const uint8_t* panel, int64_t, uint8_t*, int64_t) { return {panel}; }
  static TilesInPlace again(const uint8_t* panel, int64_t, uint8_t*, int64_t) { return {panel}; }
};

template <class Kind, class Panels = PanelsOfTiles>
struct SixteenBitProduct {
  static constexpr int64_t kRows = 16;  // of a panel, and of a tile of activations
  static constexpr int64_t kElements = kTileElements;
  static constexpr int64_t kTileNumbers = kRows * kElements;
  static constexpr bool kThree = Kind::kParts == 3;
  static_assert(Kind::kParts == 2 || Kind::kParts == 3);

  static constexpr int64_t blocks_of(int64_t k) { return (k + kElements - 1) / kElements; }

  static int64_t panel_bytes(int64_t k) { return Panels::panel_bytes(k); }

  static int64_t scratch_bytes(int64_t k) { return Panels::scratch_bytes(k); }

  // Of panels that are tiles.
  static void pack(const uint8_t* w, int64_t stride, int64_t n_rows, int64_t k, uint8_t* panel) {
    if (n_rows < kRows || k % kElements != 0) std::memset(panel, 0, static_cast<size_t>(panel_bytes(k)));
    for (int64_t row = 0; row < n_rows; ++row) {
      const uint8_t* from = w + row * stride;
      uint8_t* to = panel + row * 4;
      int64_t j = 0;
      for (; j + 2 <= k; j += 2) std::memcpy(to + j / 2 * kTileLine, from + j * 2, 4);
      if (j < k) std::memcpy(to + j / 2 * kTileLine, from + j * 2, 2);
    }
  }

  static void multiply(const PanelMatmulParams& p) {
    written_for_tiles(Kind::tiles(p));
    const int64_t in_pairs = p.n / (2 * kRows) * (2 * kRows);
    const int64_t at_once = rows_at_once(p.k);
    if (in_pairs > 0) {
      use_tiles(two_by_two(kRows, kRows));
      for (int64_t begin = 0; begin < in_pairs; begin += at_once)
        multiply_many(p, begin, begin + at_once < in_pairs ? begin + at_once : in_pairs);
      _tile_release();
    }
    const int64_t left = p.n - in_pairs;
    if (left > kRows) {
      use_tiles(two_by_two(kRows, left - kRows));
      multiply_many(p, in_pairs, p.n);
      _tile_release();
    } else if (left > 0) {
      multiply_few(p, in_pairs, left);
    }
  }

 private:
  // Of a tile of 16 rows, that of block b and the first part. The others follow it.
  static const uint16_t* x_tile(const PanelMatmulParams& p, int64_t row, int64_t b) {
    return Kind::tiles(p) + (row / kRows * blocks_of(p.k) + b) * Kind::kParts * kTileNumbers;
  }

  static const uint8_t* panel_at(const PanelMatmulParams& p, int64_t panel) {
    return p.panels + panel * panel_bytes(p.k);
  }

  using Sums = float[kRows][kRows];

  // What n rows of activations, from `row` on, come to with a panel.
  static void store(const PanelMatmulParams& p, const Sums& sums, int64_t row, int64_t n, int64_t panel) {
    const int64_t column = panel * kRows;
    const int64_t n_columns = p.m - column < kRows ? p.m - column : kRows;
    const auto mask = static_cast<__mmask16>((1u << n_columns) - 1u);
    const __m512 bias =
        p.bias == nullptr ? _mm512_setzero_ps() : _mm512_maskz_loadu_ps(mask, p.bias + column);
    for (int64_t r = 0; r < n; ++r) {
      const __m512 sum = Kind::scaled(p, row + r, _mm512_load_ps(sums[r]));
      _mm512_mask_storeu_ps(p.y + (row + r) * p.m + column, mask,
                            p.bias == nullptr ? sum : _mm512_add_ps(sum, bias));
    }
  }

  // Two tiles of rows times one panel or two. Registers: sums in 0 to 3, activations in 4 and 5, weights in 6
  // and 7.
  static TileShapes two_by_two(int64_t first_rows, int64_t second_rows) {
    TileShapes shapes;
    for (const int tile : {0, 1, 4}) shapes.set(tile, first_rows, kTileLine);
    for (const int tile : {2, 3, 5}) shapes.set(tile, second_rows, kTileLine);
    for (const int tile : {6, 7}) shapes.set(tile, kRows, kTileLine);
    return shapes;
  }

  // n rows, more than 16, from `row` on.
  template <bool kTwoPanels, class Tiles>
  static void multiply_two(const PanelMatmulParams& p, int64_t row, int64_t n, int64_t panel, Tiles w0,
                           Tiles w1) {
    const int64_t nb = blocks_of(p.k);
    const uint16_t* x0 = x_tile(p, row, 0);
    const uint16_t* x1 = x_tile(p, row + kRows, 0);
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (int64_t b = 0; b < nb; ++b) {
      _tile_loadd(6, w0.tile(b), kTileLine);
      if constexpr (kTwoPanels) _tile_loadd(7, w1.tile(b), kTileLine);
#pragma GCC unroll 3
      for (int64_t part = 0; part < Kind::kParts; ++part) {
        _tile_loadd(4, x0 + (b * Kind::kParts + part) * kTileNumbers, kTileLine);
        add_pair_products<Kind::kType, 0, 4, 6>();
        if constexpr (kTwoPanels) add_pair_products<Kind::kType, 1, 4, 7>();
        _tile_loadd(5, x1 + (b * Kind::kParts + part) * kTileNumbers, kTileLine);
        add_pair_products<Kind::kType, 2, 5, 6>();
        if constexpr (kTwoPanels) add_pair_products<Kind::kType, 3, 5, 7>();
      }
    }
    alignas(64) Sums sums;
    _tile_stored(0, sums, kTileLine);
    store(p, sums, row, kRows, panel);
    _tile_stored(2, sums, kTileLine);
    store(p, sums, row + kRows, n - kRows, panel);
    if constexpr (kTwoPanels) {
      _tile_stored(1, sums, kTileLine);
      store(p, sums, row, kRows, panel + 1);
      _tile_stored(3, sums, kTileLine);
      store(p, sums, row + kRows, n - kRows, panel + 1);
    }
  }

  // One tile of rows times one panel or two, whose sums do not wait for each other. Registers: sums in 0 and
  // 1, the parts of activations in 4 to 6, weights in 2 and 3.
  static TileShapes one_by_two(int64_t n_rows) {
    TileShapes shapes;
    for (const int tile : {0, 1, 4, 5, 6}) shapes.set(tile, n_rows, kTileLine);
    for (const int tile : {2, 3}) shapes.set(tile, kRows, kTileLine);
    return shapes;
  }

  template <bool kTwoPanels, class AnyFetch>
  static void multiply_one(const PanelMatmulParams& p, int64_t row, int64_t n, int64_t panel,
                           AnyFetch fetch) {
    const int64_t nb = blocks_of(p.k);
    auto w0 = Panels::once(panel_at(p, panel), p.k, p.scratch, 0);
    auto w1 = Panels::once(panel_at(p, panel + kTwoPanels), p.k, p.scratch, 1);
    _tile_zero(0);
    _tile_zero(1);
    for (int64_t b = 0; b < nb; ++b) {
      fetch.step();
      const uint16_t* x = x_tile(p, row, b);
      _tile_loadd(2, w0.tile(b), kTileLine);
      if constexpr (kTwoPanels) _tile_loadd(3, w1.tile(b), kTileLine);
      _tile_loadd(4, x, kTileLine);
      add_pair_products<Kind::kType, 0, 4, 2>();
      if constexpr (kTwoPanels) add_pair_products<Kind::kType, 1, 4, 3>();
      _tile_loadd(5, x + kTileNumbers, kTileLine);
      add_pair_products<Kind::kType, 0, 5, 2>();
      if constexpr (kTwoPanels) add_pair_products<Kind::kType, 1, 5, 3>();
      if constexpr (kThree) {
        _tile_loadd(6, x + 2 * kTileNumbers, kTileLine);
        add_pair_products<Kind::kType, 0, 6, 2>();
        if constexpr (kTwoPanels) add_pair_products<Kind::kType, 1, 6, 3>();
      }
    }
    alignas(64) Sums sums;
    _tile_stored(0, sums, kTileLine);
    store(p, sums, row, n, panel);
    if constexpr (kTwoPanels) {
      _tile_stored(1, sums, kTileLine);
      store(p, sums, row, n, panel + 1);
    }
  }

  // Up to 16 rows, from `row` on.
  static void multiply_few(const PanelMatmulParams& p, int64_t row, int64_t n) {
    const int64_t n_panels = p.panel_end - p.panel_begin;
    const int64_t nb = blocks_of(p.k);
    TurnFetcher of_turn(p.next, p.next_bytes, n_panels / 2 + n_panels % 2, nb);
    use_tiles(one_by_two(n));
    for (int64_t panel = p.panel_begin; panel < p.panel_end; panel += 2) {
      const auto multiply = [&](auto fetch) {
        p.panel_end - panel >= 2 ? multiply_one<true>(p, row, n, panel, fetch)
                                 : multiply_one<false>(p, row, n, panel, fetch);
      };
      if (p.n <= kStreamedRows) {
        multiply(of_turn.next_tile());
      } else {
        const uint8_t* after = p.panel_end - panel > 2 ? panel_at(p, panel + 2) : p.next;
        multiply(PanelsFetcher(after, 2 * panel_bytes(p.k), 1, nb).next_tile());
      }
    }
    _tile_release();
  }

  // Rows begin .. end - 1, 32 at a time; the last may be 17 or more.
  static void multiply_many(const PanelMatmulParams& p, int64_t begin, int64_t end) {
    for (int64_t panel = p.panel_begin; panel < p.panel_end; panel += 2) {
      const bool two_panels = panel + 1 < p.panel_end;
      const uint8_t* w0 = panel_at(p, panel);
      const uint8_t* w1 = panel_at(p, panel + two_panels);
      const auto multiply = [&](int64_t row, auto tiles0, auto tiles1) {
        const int64_t n = end - row < 2 * kRows ? end - row : 2 * kRows;
        two_panels ? multiply_two<true>(p, row, n, panel, tiles0, tiles1)
                   : multiply_two<false>(p, row, n, panel, tiles0, tiles1);
      };
      multiply(begin, Panels::first(w0, p.k, p.scratch, 0), Panels::first(w1, p.k, p.scratch, 1));
      for (int64_t row = begin + 2 * kRows; row < end; row += 2 * kRows)
        multiply(row, Panels::again(w0, p.k, p.scratch, 0), Panels::again(w1, p.k, p.scratch, 1));
    }
  }

  // Rows whose parts stay in the second-level cache while all panels are multiplied by them.
  static int64_t rows_at_once(int64_t k) {
    constexpr int64_t kCacheBytes = 1024 * 1024;
    const int64_t row_bytes =
        (blocks_of(k) + 1) * kElements * Kind::kParts * static_cast<int64_t>(sizeof(uint16_t));
    const int64_t rows = kCacheBytes / row_bytes;
    return rows < 4 * kRows ? 4 * kRows : rows / (2 * kRows) * (2 * kRows);
  }
};

}  // namespace
}  // namespace inferno::kernels
