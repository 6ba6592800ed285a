// Products of quantized weights and many rows of activations in 8 bits, for an ISA that repeats four bytes in
// a vector only by an instruction of its own, and has none to spare (docs/decisions/001, "Without dot
// products of bytes"): of the rows of a tile it is done once for some panels, which then find vectors in
// memory.
//
// Panels are unpacked a chunk of columns at a time, into the second-level cache; rows are spread into the
// first, a tile at a time, and meet one panel after the other. Until the next chunk sums wait where the
// outputs will be. So they are those of quantized_product.h, bit for bit.
#pragma once

#include <cstdint>

#include "kernels/cpu/loops/fetcher.h"
#include "kernels/cpu/loops/panel.h"
#include "kernels/cpu/loops/panel_int8.h"

namespace inferno::kernels {
namespace {

// Some blocks of kRows rows of activations. Of each block, vectors for every row: its eight quads, its scale,
// and, of each group of weights that share one, what takes back their offset or, where they have minimums,
// the total.
template <class V, class Format, int kRows>
class SpreadRows {
 public:
  static constexpr int kGroups = kBlock / Format::kGroup;
  static constexpr bool kHasStarts = Format::kOffset > 0, kHasTotals = Format::kHasMin;
  static constexpr int64_t kVector = 4 * V::kLanes;  // bytes
  static constexpr int64_t kVectorsOfRow = kBlockVectors + 1 + (kHasStarts || kHasTotals ? kGroups : 0);
  static constexpr int64_t kBlockBytes = kVectorsOfRow * kRows * kVector;
  static_assert(!(kHasStarts && kHasTotals));

  // nb blocks, from number `begin` on, of the rows from r on; `to` has room for nb * kBlockBytes.
  SpreadRows(const PanelMatmulParams& p, int64_t r, int64_t begin, int64_t nb, uint8_t* to) : blocks_(to) {
    const RowsInPlace<V, Format, kRows> rows(p, r);
    for (int64_t b = 0; b < nb; ++b) {
#pragma GCC unroll 8
      for (int t = 0; t < kRows; ++t) {
#pragma GCC unroll 8
        for (int v = 0; v < kBlockVectors; ++v) V::store_bytes(at(t, b, v), rows.quad(t, begin + b, v));
        V::store(floats_at(t, b, kScale), rows.scale(t, begin + b));
        for (int group = 0; group < kGroups; ++group) {
          const int i = kOfGroups + group;
          if constexpr (kHasStarts) V::store_bytes(at(t, b, i), rows.start(t, begin + b, group));
          if constexpr (kHasTotals) V::store(floats_at(t, b, i), rows.total(t, begin + b, group));
        }
      }
    }
  }

  // What RowsInPlace gives, of blocks counted from the first of these.
  typename V::I quad(int t, int64_t b, int v) const {
    return V::load_bytes(at(t, b, v));
  }
  typename V::F scale(int t, int64_t b) const {
    return V::load(floats_at(t, b, kScale));
  }
  typename V::I start(int t, int64_t b, int group) const {
    return V::load_bytes(at(t, b, kOfGroups + group));
  }
  typename V::F total(int t, int64_t b, int group) const {
    return V::load(floats_at(t, b, kOfGroups + group));
  }

 private:
  // Numbers of a row's vectors.
  static constexpr int kScale = kBlockVectors, kOfGroups = kScale + 1;

  uint8_t* at(int t, int64_t b, int i) const {
    return blocks_ + b * kBlockBytes + (i * kRows + t) * kVector;
  }
  float* floats_at(int t, int64_t b, int i) const {
    return reinterpret_cast<float*>(at(t, b, i));
  }

  uint8_t* blocks_;
};

// Of weights that are unpacked from Format to Whole.
template <class V, class Format, class Whole>
class SpreadProduct {
 public:
  // Tiles have so many rows or one less, of which any number from kFewestRows on is a sum.
  static constexpr int kTileRows = V::kTileRows;
  static constexpr int64_t kFewestRows = (kTileRows - 1) * (kTileRows - 2);
  // PanelMatmul::turn_panels: to spread a tile is a load and a store for every step of one panel.
  static constexpr int64_t kTurnPanels = 16;

  static int64_t scratch_bytes() {
    return kMostPanels * Whole::panel_bytes(kChunkBlocks * kBlock) +
           kChunkBlocks * Rows<kTileRows>::kBlockBytes;
  }

  // At least kFewestRows rows.
  static void multiply(const PanelMatmulParams& p) {
    const int64_t count = p.panel_end - p.panel_begin;
    const int64_t n_parts = (count + kMostPanels - 1) / kMostPanels;
    for (int64_t i = 0; i < n_parts; ++i) {
      const int64_t panel = p.panel_begin + count * i / n_parts;
      const int64_t n_panels = p.panel_begin + count * (i + 1) / n_parts - panel;
      const int64_t nb = p.k / kBlock;
      for (int64_t begin = 0; begin < nb; begin += kChunkBlocks) {
        const int64_t n_blocks = nb - begin < kChunkBlocks ? nb - begin : kChunkBlocks;
        PanelMatmulParams part = p;
        if (begin + n_blocks < nb) part.bias = nullptr;  // comes last
        multiply_chunk(part, {panel, n_panels, begin, n_blocks});
      }
    }
  }

 private:
  // Of a chunk the rows of a tile take up to 16 of the 32 KiB of a first-level cache, the panels up to 144 of
  // the 256 KiB, or more, of a second-level one, through which their outputs go once for a chunk.
  static constexpr int64_t kChunkBlocks = 8;
  static constexpr int64_t kMostPanels = 32;
  static_assert(kChunkBlocks % Format::kUnitBlocks == 0);
  static_assert(!requires(PanelMatmulParams p) { Format::panel(p, 0); });  // in planes

  template <int kRows>
  using Rows = SpreadRows<V, Whole, kRows>;

  // n_blocks blocks, from number `begin` on, of n_panels panels.
  struct Chunk {
    int64_t panel, n_panels, begin, n_blocks;

    int64_t bytes_of_panel() const { return Whole::panel_bytes(n_blocks * kBlock); }
  };

  static void multiply_chunk(const PanelMatmulParams& p, const Chunk& c) {
    for (int64_t i = 0; i < c.n_panels; ++i) {
      Whole::template unpack<Format>(panel_at<Format>(p, c.panel + i), p.k / kBlock, c.begin, c.n_blocks,
                                     p.scratch + i * c.bytes_of_panel());
    }
    const int64_t n_tiles = (p.n + kTileRows - 1) / kTileRows;
    const int64_t n_smaller = n_tiles * kTileRows - p.n;
    int64_t r = 0;
    for (int64_t i = 0; i < n_tiles - n_smaller; ++i, r += kTileRows) multiply_rows<kTileRows>(p, c, r);
    for (int64_t i = 0; i < n_smaller; ++i, r += kTileRows - 1) multiply_rows<kTileRows - 1>(p, c, r);
  }

  template <int kRows>
  static void multiply_rows(const PanelMatmulParams& p, const Chunk& c, int64_t r) {
    const Rows<kRows> x(p, r, c.begin, c.n_blocks, p.scratch + c.n_panels * c.bytes_of_panel());
    ask_for_rows(p, c, r + kRows);
    for (int64_t i = 0; i < c.n_panels; ++i) {
      const int64_t panel = c.panel + i;
      const uint8_t* weights[] = {p.scratch + i * c.bytes_of_panel()};
      typename V::F y[1][kRows];
      if (c.begin == 0) {
#pragma GCC unroll 8
        for (int t = 0; t < kRows; ++t) y[0][t] = V::zero();
        hint_outputs<V, 1, kRows>(p, panel, r);
      } else {
        const int64_t row = panel * V::kLanes;
        const int64_t n = p.m - row < V::kLanes ? p.m - row : V::kLanes;
#pragma GCC unroll 8
        for (int t = 0; t < kRows; ++t) y[0][t] = V::load(p.y + (r + t) * p.m + row, n);
      }
      if (r == 0) ask_for_next(p, c, i);
      NoFetch fetch;
      add_products<V, Whole>(weights, c.n_blocks, x, fetch, y);
      store_outputs<V>(p, y, panel, r);
    }
  }

  // The bytes that the next tile is spread from, meanwhile.
  static void ask_for_rows(const PanelMatmulParams& p, const Chunk& c, int64_t r) {
    for (int64_t end = r + kTileRows < p.n ? r + kTileRows : p.n; r < end; ++r) {
      const int8_t* row = p.quantized.q + r * p.k + c.begin * kBlock;
      for (int64_t i = 0; i < c.n_blocks * kBlock; i += 64) __builtin_prefetch(row + i, 0, 3);
    }
  }
  // Of the panel that takes the place of panel i in the next chunk, what is unpacked then.
  static void ask_for_next(const PanelMatmulParams& p, const Chunk& c, int64_t i) {
    const int64_t nb = p.k / kBlock;
    const int64_t bytes = Format::panel_bytes(p.k);
    const uint8_t* at = p.panels + (c.panel + i) * bytes;
    int64_t begin = c.begin + c.n_blocks;
    if (begin == nb) {
      begin = 0;
      const int64_t next = c.panel + c.n_panels + i;
      const int64_t of_next_turn = (next - p.panel_end) * bytes;
      if (next < p.panel_end) {
        at = p.panels + next * bytes;
      } else if (p.next != nullptr && of_next_turn < p.next_bytes) {
        at = p.next + of_next_turn;
      } else {
        return;
      }
    }
    const int64_t end = nb - begin < kChunkBlocks ? nb : begin + kChunkBlocks;
    for (int64_t byte = bytes * begin / nb; byte < bytes * end / nb; byte += 64)
      __builtin_prefetch(at + byte, 0, 2);
  }
};

}  // namespace
}  // namespace inferno::kernels
