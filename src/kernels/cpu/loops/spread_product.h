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
  // Tiles have so many rows, or up to two less: from kFewestRows rows on the fewest tiles that hold all, as
  // large as each other or nearly, have that many.
  static constexpr int kTileRows = V::kTileRows;
  static constexpr int kFewestTileRows = kTileRows - 2;
  static constexpr int64_t kFewestRows = 2 * kFewestTileRows;
  static_assert((2 * kTileRows + 1) / 3 >= kFewestTileRows);
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
      const Blocks blocks(p);
      for (int64_t chunk = 0; chunk < blocks.n_chunks; ++chunk) {
        PanelMatmulParams part = p;
        if (chunk + 1 < blocks.n_chunks) part.bias = nullptr;  // comes last
        multiply_chunk(part, {panel, n_panels, chunk, blocks.begin(chunk), blocks.n(chunk)});
      }
    }
  }

 private:
  // Of a chunk the rows of a tile take up to 16 of the 32 KiB of a first-level cache, the panels up to 144 of
  // the 256 KiB, or more, of a second-level one, through which their outputs go once for a chunk.
  static constexpr int64_t kChunkBlocks = 8;
  static constexpr int64_t kMostPanels = 32;
  static_assert(Format::kUnitBlocks == 1 || Format::kUnitBlocks == kChunkBlocks);
  static_assert(!requires(PanelMatmulParams p) { Format::panel(p, 0); });  // in planes

  template <int kRows>
  using Rows = SpreadRows<V, Whole, kRows>;

  // The blocks of a row in as few chunks as there can be, as long as each other or nearly: whole units, since
  // a row of units of several blocks is whole chunks.
  struct Blocks {
    int64_t n_blocks, n_chunks;

    explicit Blocks(const PanelMatmulParams& p)
        : n_blocks(p.k / kBlock), n_chunks((n_blocks + kChunkBlocks - 1) / kChunkBlocks) {}
    int64_t begin(int64_t chunk) const { return n_blocks * chunk / n_chunks; }
    int64_t n(int64_t chunk) const { return begin(chunk + 1) - begin(chunk); }
  };

  // n_blocks blocks, from number `begin` on, of n_panels panels.
  struct Chunk {
    int64_t panel, n_panels, number, begin, n_blocks;

    int64_t bytes_of_panel() const { return Whole::panel_bytes(n_blocks * kBlock); }
  };

  // What is unpacked for the chunk that comes after one, asked for while that is multiplied: of the panel
  // that takes the place of each some lines at each of its blocks, since a burst of hints is heeded in part.
  class NextChunk {
   public:
    NextChunk(const PanelMatmulParams& p, const Chunk& c, int64_t n_tiles)
        : at_(p.panels + c.panel * Format::panel_bytes(p.k)),
          to_next_(Format::panel_bytes(p.k)),
          n_panels_(c.n_panels) {
      const Blocks blocks(p);
      int64_t chunk = c.number + 1;
      if (chunk == blocks.n_chunks) {
        chunk = 0;
        const int64_t left = p.panel_end - c.panel - c.n_panels;  // of this turn
        n_panels_ = left > 0 ? left : p.next == nullptr ? 0 : p.next_bytes / to_next_;
        if (n_panels_ == 0) return;
        at_ = left > 0 ? at_ + c.n_panels * to_next_ : p.next;
      }
      const int64_t first = to_next_ * blocks.begin(chunk) / blocks.n_blocks;
      const int64_t end = to_next_ * blocks.begin(chunk + 1) / blocks.n_blocks;
      const int64_t n_lines = (end - first + 63) / 64;
      at_ += first;
      lines_ = (n_lines + n_tiles * c.n_blocks - 1) / (n_tiles * c.n_blocks);
      lines_of_tile_ = lines_ * c.n_blocks;
      last_tile_ = (n_lines - 1) / lines_of_tile_;
      last_lines_ = (n_lines - last_tile_ * lines_of_tile_ + c.n_blocks - 1) / c.n_blocks;
    }

    Fetch of(int64_t tile, int64_t i) const {
      if (tile > last_tile_ || i >= n_panels_) return {nullptr, 0};
      return {at_ + i * to_next_ + tile * lines_of_tile_ * 64, tile < last_tile_ ? lines_ : last_lines_};
    }

   private:
    const uint8_t* at_;
    int64_t to_next_;                          // panel, in bytes
    int64_t n_panels_;                         // that lie there
    int64_t lines_ = 0, lines_of_tile_ = 0;    // lines_ at each block
    int64_t last_tile_ = -1, last_lines_ = 0;  // of those that ask
  };

  static void multiply_chunk(const PanelMatmulParams& p, const Chunk& c) {
    for (int64_t i = 0; i < c.n_panels; ++i) {
      Whole::template unpack<Format>(panel_at<Format>(p, c.panel + i), p.k / kBlock, c.begin, c.n_blocks,
                                     p.scratch + i * c.bytes_of_panel());
    }
    const int64_t n_tiles = (p.n + kTileRows - 1) / kTileRows;
    const NextChunk next(p, c, n_tiles);
    for (int64_t i = 0, r = 0; i < n_tiles; ++i) {
      const int64_t end = p.n * (i + 1) / n_tiles;
      multiply_rows<kTileRows>(p, c, next, i, r, end - r);
      r = end;
    }
  }

  // Tile number `tile`, of n_rows rows, from kFewestTileRows to kRows.
  template <int kRows>
  static void multiply_rows(const PanelMatmulParams& p, const Chunk& c, const NextChunk& next, int64_t tile,
                            int64_t r, int64_t n_rows) {
    if constexpr (kRows > kFewestTileRows) {
      if (n_rows < kRows) return multiply_rows<kRows - 1>(p, c, next, tile, r, n_rows);
    }
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
      Fetch fetch = next.of(tile, i);
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
};

}  // namespace
}  // namespace inferno::kernels
