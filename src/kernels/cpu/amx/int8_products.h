// Products of quantized weights and activations in 8 bits, 16 rows of activations at a time: what
// ../loops/panel_int8.h computes with dot products of vectors, bit for bit, with products of tiles.
//
// A tile's sums are of one group of 32 (or 16) elements, since each has scales of its own. They leave the
// tile through memory, where vectors take them up, scale them and add them to the outputs, which stay in
// registers. While one group is scaled, tiles multiply the next, of whatever comes next: another panel,
// other elements or other rows. What that reaches and what limits it: docs/decisions/003-amx.md.
#pragma once

#include "kernels/cpu/amx/tiles.h"
#include "kernels/cpu/avx512_vnni/vector.h"
#include "kernels/cpu/loops/panel_int8.h"
#include "kernels/cpu/loops/quantized_product.h"

namespace inferno::kernels {
namespace {

// Panels that are unpacked at once, and then share what is prepared of the activations.
constexpr int kUnpackedPanels = 4;
// The most blocks of 32 whose products with 16 rows follow each other: the rows stay in the first-level cache
// for all unpacked panels.
constexpr int64_t kChunkBlocks = 32;

// rows[r][0 .. n), stride floats apart, as columns: to[i][r]. n is at most 16.
inline void transpose_rows(const float* rows, int64_t stride, int64_t n, float* to) {
  const auto mask = static_cast<__mmask16>((1u << n) - 1u);
  __m512 x[16];
#pragma GCC unroll 16
  for (int r = 0; r < 16; ++r) x[r] = _mm512_maskz_loadu_ps(mask, rows + r * stride);
  Avx512VnniVector::transpose(x);
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) {
    if (i < n) _mm512_store_ps(to + i * 16, x[i]);
  }
}

// Scales of 16 rows of activations, (blocks, rows), and, where weights have minimums, totals, (groups, rows).
struct ScaledTile {
  const float* scales;
  const float* totals;
};

// A tile B that subtracts 128 times the sums of activations: what takes back that weights are stored as q +
// 128.
struct alignas(64) OffsetTile {
  int8_t values[kBlock / 4][kTileLine];
};
constexpr OffsetTile make_offset_tile() {
  OffsetTile tile = {};
  for (auto& line : tile.values) {
    for (int8_t& value : line) value = -128;
  }
  return tile;
}
constexpr OffsetTile kOffsetTile = make_offset_tile();

template <class Format>
struct TileProduct {
  using V = Avx512VnniVector;
  // As signed bytes.
  using Whole = Unpacked<V, Format::kGroup, Format::kHasMin, 0>;
  static constexpr int64_t kGroups = kBlock / Format::kGroup;
  static constexpr int64_t kRows = kMatrixTileRows;
  static constexpr int64_t kTotals = Format::kHasMin ? kGroups : 0;  // of a block
  // Whether tiles can take the panel's bytes as they are, unsigned.
  static constexpr bool kIsBytes = requires { Format::kIsBytes; };
  static_assert(!kIsBytes || (Format::kOffset == 128 && Format::kGroup == kBlock && !Format::kHasMin));

  static int64_t scratch_bytes(int64_t k) {
    return kUnpackedPanels * (Whole::panel_bytes(k) + kOutputBytes) +
           k / kBlock * (1 + kTotals) * kColumnBytes;
  }

  static void multiply(const PanelMatmulParams& p) {
    TileShapes shapes;
    shapes.set(0, kRows, kTileLine);
    shapes.set(1, kRows, Format::kGroup);
    shapes.set(2, Format::kGroup / 4, kTileLine);
    shapes.set(3, Format::kGroup / 4, kTileLine);
    use_tiles(shapes);
    p.n == kRows ? multiply_sixteen(p) : multiply_many(p);
    _tile_release();
  }

 private:
  using Sums = int32_t[kRows][16];
  static constexpr int64_t kOutputBytes = kRows * 16 * static_cast<int64_t>(sizeof(float));
  static constexpr int64_t kColumnBytes = kRows * static_cast<int64_t>(sizeof(float));

  // What scratch_bytes() is for.
  struct Scratch {
    uint8_t* panels;
    float* outputs;  // (kUnpackedPanels, rows, 16)
    float* scales;   // (nb, rows)
    float* totals;   // (groups, rows)

    explicit Scratch(const PanelMatmulParams& p)
        : panels(p.scratch),
          outputs(reinterpret_cast<float*>(panels + kUnpackedPanels * Whole::panel_bytes(p.k))),
          scales(outputs + kUnpackedPanels * kRows * 16),
          totals(scales + p.k / kBlock * kRows) {}
  };

  // Where the tiles of groups are, from a first one on.
  struct Tiles {
    const int8_t* q;  // rows of activations, k apart
    const uint8_t* weights;
  };
  // Blocks begin .. end - 1 of 16 rows, from `row` on, and a panel.
  struct Part {
    int64_t row, panel, begin, end;
    Tiles tiles;
    Tiles next;              // of what is multiplied after it
    const uint8_t* weights;  // the whole panel
    float* outputs;          // so far, unless it is the last part of its rows and panel
  };

  // Some panels at a time, all rows: a chunk of blocks of 16 rows and of each panel, which is a part, then
  // the next chunk.
  static void multiply_many(const PanelMatmulParams& p) {
    const int64_t whole = Whole::panel_bytes(p.k);
    const int64_t nb = p.k / kBlock;
    const int64_t n_chunks = (nb + kChunkBlocks - 1) / kChunkBlocks;
    const Scratch scratch(p);
    alignas(64) Sums sums[2];
    for (int64_t panel = p.panel_begin; panel < p.panel_end; panel += kUnpackedPanels) {
      const int64_t left = p.panel_end - panel;
      const int64_t n_panels = left < kUnpackedPanels ? left : kUnpackedPanels;
      for (int64_t i = 0; i < n_panels; ++i)
        Whole::template unpack<Format>(panel_at<Format>(p, panel + i), nb, 0, nb, scratch.panels + i * whole);
      written_for_tiles(scratch.panels);
      auto fetcher = fetcher_of<Fetcher, Format>(p, panel + n_panels, n_panels,
                                                 n_chunks * (p.n / kRows) * n_panels, nb / n_chunks);
      const auto tiles_at = [&](int64_t row, int64_t chunk, int64_t i) -> Tiles {
        const int64_t block = nb * chunk / n_chunks;
        return {p.quantized.q + row * p.k + block * kBlock, Whole::block(scratch.panels + i * whole, block)};
      };
      int slot = 0;  // of sums: what has been multiplied and not yet scaled
      multiply_group(tiles_at(0, 0, 0), p.k, 0);
      _tile_stored(0, sums[slot], kTileLine);
      for (int64_t row = 0; row < p.n; row += kRows) {
        scale_columns(p, row, scratch);
        for (int64_t chunk = 0; chunk < n_chunks; ++chunk) {
          for (int64_t i = 0; i < n_panels; ++i) {
            Part part;
            part.row = row;
            part.panel = panel + i;
            part.begin = nb * chunk / n_chunks;
            part.end = nb * (chunk + 1) / n_chunks;
            part.tiles = tiles_at(row, chunk, i);
            if (i + 1 < n_panels) {
              part.next = tiles_at(row, chunk, i + 1);
            } else if (chunk + 1 < n_chunks) {
              part.next = tiles_at(row, chunk + 1, 0);
            } else {  // nobody takes up what comes after the last
              part.next = tiles_at(row + kRows < p.n ? row + kRows : 0, 0, 0);
            }
            part.weights = scratch.panels + i * whole;
            part.outputs = scratch.outputs + i * kRows * 16;
            slot = multiply_part(p, part, {scratch.scales, scratch.totals}, sums, slot, fetcher.next_tile());
          }
        }
      }
    }
  }

  [[gnu::always_inline]] static inline void multiply_group(const Tiles& tiles, int64_t k, int64_t group) {
    _tile_zero(0);
    _tile_loadd(1, tiles.q + group * Format::kGroup, k);
    _tile_loadd(2, tiles.weights + group * Format::kGroup * 16, kTileLine);
    _tile_dpbssd(0, 1, 2);
  }

  // sums[slot] are those of the part's first group; returns where those of the next part's are.
  template <class AnyFetch>
  static int multiply_part(const PanelMatmulParams& p, const Part& part, const ScaledTile& x, Sums (&sums)[2],
                           int slot, AnyFetch fetch) {
    const int64_t nb = p.k / kBlock;
    const bool is_last = part.end == nb;
    float* y = p.y + part.row * p.m + part.panel * 16;
    __m512 sum[kRows];
#pragma GCC unroll 16
    for (int64_t t = 0; t < kRows; ++t)
      sum[t] = part.begin == 0 ? _mm512_setzero_ps() : _mm512_load_ps(part.outputs + t * 16);
    if (is_last) hint_outputs<V, 1, kRows>(p, part.panel, part.row);
    const auto scale_then_store = [&](int64_t group) __attribute__((always_inline)) {
      add_scaled<Whole>(sums[slot], part.weights, nb, part.begin * kGroups + group, x, sum, [](int) {});
      slot ^= 1;
      _tile_stored(0, sums[slot], kTileLine);
    };
    const int64_t n_groups = (part.end - part.begin) * kGroups;
    for (int64_t group = 1; group < n_groups; ++group) {
      if (group % kGroups == 0) fetch.step();
      multiply_group(part.tiles, p.k, group);
      scale_then_store(group - 1);
    }
    fetch.step();
    multiply_group(part.next, p.k, 0);
    scale_then_store(n_groups - 1);
    if (is_last) {
      store_outputs(p, part.panel, sum, y);
    } else {
#pragma GCC unroll 16
      for (int64_t t = 0; t < kRows; ++t) _mm512_store_ps(part.outputs + t * 16, sum[t]);
    }
    return slot;
  }

  // To the outputs what the sums of a group come to. between(t): before row t.
  template <class Panel, class Between>
  [[gnu::always_inline]] static inline void add_scaled(const Sums& sums, const uint8_t* weights, int64_t nb,
                                                       int64_t group, const ScaledTile& x,
                                                       __m512 (&sum)[kRows], const Between& between) {
    const int64_t block = group / kGroups;
    typename Panel::Scales w;
    w.load(weights, nb, block);
    const __m512 w_scale = w.scale(0, static_cast<int>(group % kGroups));
    const float* scales = x.scales + block * kRows;
#pragma GCC unroll 16
    for (int t = 0; t < kRows; ++t) {
      between(t);
      const __m512i whole = _mm512_load_si512(sums[t]);
      const __m512 both = _mm512_mul_ps(w_scale, _mm512_set1_ps(scales[t]));
      sum[t] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(whole), both, sum[t]);
    }
    if constexpr (Format::kHasMin) {
      const __m512 w_min = w.min(0, static_cast<int>(group % kGroups));
      const float* totals = x.totals + group * kRows;
#pragma GCC unroll 16
      for (int t = 0; t < kRows; ++t) sum[t] = _mm512_fmadd_ps(w_min, _mm512_set1_ps(totals[t]), sum[t]);
    }
  }

  [[gnu::always_inline]] static inline void store_outputs(const PanelMatmulParams& p, int64_t panel,
                                                          __m512 (&sum)[kRows], float* y) {
    const int64_t n_columns = p.m - panel * 16;
    const auto mask = static_cast<__mmask16>(n_columns < 16 ? (1u << n_columns) - 1u : 0xffffu);
    const __m512 bias =
        p.bias == nullptr ? _mm512_setzero_ps() : _mm512_maskz_loadu_ps(mask, p.bias + panel * 16);
#pragma GCC unroll 16
    for (int64_t t = 0; t < kRows; ++t)
      _mm512_mask_storeu_ps(y + t * p.m, mask, p.bias == nullptr ? sum[t] : _mm512_add_ps(sum[t], bias));
  }

  // A batch, of which every weight is multiplied once: what is prepared of the activations serves all panels,
  // and bytes are multiplied where they lie.
  static void multiply_sixteen(const PanelMatmulParams& p) {
    const int64_t nb = p.k / kBlock;
    const Scratch scratch(p);
    const ScaledTile x = {scratch.scales, scratch.totals};
    scale_columns(p, 0, scratch);
    if constexpr (kIsBytes) _tile_loadd(3, &kOffsetTile, kTileLine);
    for (int64_t panel = p.panel_begin; panel < p.panel_end; ++panel) {
      const auto at = panel_at<Format>(p, panel);
      auto fetcher = fetcher_of<PanelsFetcher, Format>(p, panel + 1, 1, 1, nb);
      if constexpr (kIsBytes) {
        multiply_panel<Format>(p, at, panel, x, fetcher.next_tile());
      } else {
        Whole::template unpack<Format>(at, nb, 0, nb, scratch.panels);
        written_for_tiles(scratch.panels);
        multiply_panel<Whole>(p, scratch.panels, panel, x, fetcher.next_tile());
      }
    }
  }

  // All blocks of a panel, which lies as Panel has it, and of the only 16 rows. (Nothing of the next panel
  // meanwhile: that waits for memory.)
  template <class Panel, class AnyFetch>
  static void multiply_panel(const PanelMatmulParams& p, const uint8_t* weights, int64_t panel,
                             const ScaledTile& x, AnyFetch fetch) {
    constexpr int64_t kAhead = 2;  // groups that are multiplied before one is scaled
    constexpr int64_t kSums = 4;   // tiles in memory
    alignas(64) Sums sums[kSums];
    const int64_t nb = p.k / kBlock;
    __m512 sum[kRows];
#pragma GCC unroll 16
    for (int64_t t = 0; t < kRows; ++t) sum[t] = _mm512_setzero_ps();
    const auto multiply = [&](int64_t group) __attribute__((always_inline)) {
      const uint8_t* block = Panel::block(weights, group / kGroups);
      _tile_zero(0);
      _tile_loadd(1, p.quantized.q + group * Format::kGroup, p.k);
      _tile_loadd(2, block + group % kGroups * Format::kGroup * 16, kTileLine);
      if constexpr (Panel::kOffset == 0) {
        _tile_dpbssd(0, 1, 2);
      } else {
        _tile_dpbssd(0, 1, 3);
        _tile_dpbsud(0, 1, 2);
      }
    };
    const auto store = [&](int64_t group) { _tile_stored(0, sums[group % kSums], kTileLine); };
    // The weights that come next line after line, since they come from memory.
    const auto scale = [&](int64_t group) __attribute__((always_inline)) {
      add_scaled<Panel>(
          sums[group % kSums], weights, nb, group, x, sum, [&](int t) __attribute__((always_inline)) {
            if (t % 4 == 0) fetch.part_of_step();
          });
    };
    const int64_t n_groups = nb * kGroups;
    const int64_t ahead = n_groups < kAhead ? n_groups : kAhead;
    for (int64_t group = 0; group < ahead; ++group) {
      multiply(group);
      store(group);
    }
    for (int64_t group = 0; group < n_groups - ahead; ++group) {
      if (group % kGroups == 0) fetch.begin_step();
      multiply(group + ahead);
      scale(group);
      store(group + ahead);
    }
    for (int64_t group = n_groups - ahead; group < n_groups; ++group) {
      if (group % kGroups == 0) fetch.begin_step();
      scale(group);
    }
    store_outputs(p, panel, sum, p.y + panel * 16);
  }

  // n numbers of each of 16 rows, as (n, rows).
  static void columns(const float* rows, int64_t n, float* to) {
    for (int64_t i = 0; i < n; i += 16, to += 16 * kRows)
      transpose_rows(rows + i, n, n - i < 16 ? n - i : 16, to);
  }

  // What is prepared of 16 rows, from `row` on.
  static void scale_columns(const PanelMatmulParams& p, int64_t row, const Scratch& scratch) {
    const int64_t nb = p.k / kBlock;
    columns(p.quantized.scale + row * nb, nb, scratch.scales);
    if constexpr (kTotals != 0) {
      const float* total = kGroups == 1 ? p.quantized.total : p.quantized.half_total;
      columns(total + row * nb * kGroups, nb * kGroups, scratch.totals);
    }
  }
};

// Of the format's panels.
template <class Format>
void set_tiles(PanelMatmul* kernel) {
  kernel->multiply_tiles = TileProduct<Format>::multiply;
  kernel->scratch_bytes = TileProduct<Format>::scratch_bytes;  // enough for fewer rows, too
  if (kernel->two_run_rows >= kMatrixTileRows) kernel->two_run_rows = kMatrixTileRows - 1;
}
template <class Format>
void set_tiles(CpuKernels* table, DType dtype) {
  set_tiles<Format>(&table->matmul[static_cast<int>(dtype)]);
}

}  // namespace
}  // namespace inferno::kernels
