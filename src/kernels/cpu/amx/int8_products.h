// Products of quantized weights and activations in 8 bits, 16 rows of activations at a time: what
// ../loops/panel_int8.h computes with dot products of vectors, bit for bit, with products of tiles.
//
// A tile's sums are of one group of 32 (or 16) elements, since each has scales of its own. They leave the
// tile through memory, where vectors take them up, scale them and add them to the outputs, which stay in
// registers. While one group is scaled, tiles multiply another. What that reaches and what limits it:
// docs/decisions/003-amx.md.
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

  static int64_t scratch_bytes(int64_t k) { return kUnpackedPanels * Whole::panel_bytes(k); }

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
  static void multiply_many(const PanelMatmulParams& p) {
    const int64_t whole = Whole::panel_bytes(p.k);
    const int64_t nb = p.k / kBlock;
    const int64_t n_chunks = (nb + kChunkBlocks - 1) / kChunkBlocks;
    const int64_t chunk = (nb + n_chunks - 1) / n_chunks;
    alignas(64) float scales[kChunkBlocks * kRows];
    alignas(64) float totals[kTotals == 0 ? 1 : kChunkBlocks * kTotals * kRows];
    for (int64_t panel = p.panel_begin; panel < p.panel_end; panel += kUnpackedPanels) {
      const int64_t left = p.panel_end - panel;
      const int64_t n_panels = left < kUnpackedPanels ? left : kUnpackedPanels;
      for (int64_t i = 0; i < n_panels; ++i)
        Whole::template unpack<Format>(panel_at<Format>(p, panel + i), nb, p.scratch + i * whole);
      written_for_tiles(p.scratch);
      auto fetcher = fetcher_of<Fetcher, Format>(p, panel + n_panels, n_panels,
                                                 n_chunks * (p.n / kRows) * n_panels, chunk);
      for (int64_t begin = 0; begin < nb; begin += chunk) {
        const int64_t end = begin + chunk < nb ? begin + chunk : nb;
        for (int64_t row = 0; row < p.n; row += kRows) {
          scale_columns(p, row, begin, end, scales, totals);
          for (int64_t i = 0; i < n_panels; ++i) {
            multiply_chunk<Whole>(p, p.scratch + i * whole, panel + i, row, {scales, totals}, begin, end,
                                  fetcher.next_tile());
          }
        }
      }
    }
  }

  // A batch, of which every weight is multiplied once: what is prepared of the activations serves all panels,
  // and bytes are multiplied where they lie.
  static void multiply_sixteen(const PanelMatmulParams& p) {
    const int64_t nb = p.k / kBlock;
    static_assert(kUnpackedPanels > 1);
    auto* scales = reinterpret_cast<float*>(p.scratch + Whole::panel_bytes(p.k));
    float* totals = scales + nb * kRows;
    scale_columns(p, 0, 0, nb, scales, totals);
    if constexpr (kIsBytes) _tile_loadd(3, &kOffsetTile, kTileLine);
    for (int64_t panel = p.panel_begin; panel < p.panel_end; ++panel) {
      const auto at = panel_at<Format>(p, panel);
      auto fetcher = fetcher_of<PanelsFetcher, Format>(p, panel + 1, 1, 1, nb);
      if constexpr (kIsBytes) {
        multiply_chunk<Format>(p, at, panel, 0, {scales, totals}, 0, nb, fetcher.next_tile());
      } else {
        Whole::template unpack<Format>(at, nb, p.scratch);
        written_for_tiles(p.scratch);
        multiply_chunk<Whole>(p, p.scratch, panel, 0, {scales, totals}, 0, nb, fetcher.next_tile());
      }
    }
  }

  // Numbers begin .. end - 1 of 16 rows, each `stride` long, as (numbers, rows).
  static void columns(const float* rows, int64_t stride, int64_t begin, int64_t end, float* to) {
    for (int64_t i = begin; i < end; i += 16, to += 16 * kRows)
      transpose_rows(rows + i, stride, end - i < 16 ? end - i : 16, to);
  }

  // What is prepared of blocks begin .. end - 1 of 16 rows, from `row` on.
  static void scale_columns(const PanelMatmulParams& p, int64_t row, int64_t begin, int64_t end,
                            float* scales, float* totals) {
    const int64_t nb = p.k / kBlock;
    columns(p.quantized.scale + row * nb, nb, begin, end, scales);
    if constexpr (kTotals != 0) {
      const float* total = kGroups == 1 ? p.quantized.total : p.quantized.half_total;
      columns(total + row * nb * kGroups, nb * kGroups, begin * kGroups, end * kGroups, totals);
    }
  }

  // Blocks begin .. end - 1 of a panel, which lies as Panel has it, and of 16 rows, from `row` on: the
  // outputs so far are in y. x: of these blocks.
  template <class Panel, class AnyFetch>
  static void multiply_chunk(const PanelMatmulParams& p, const uint8_t* bytes, int64_t panel, int64_t row,
                             const ScaledTile& x, int64_t begin, int64_t end, AnyFetch fetch) {
    // Line after line between other things, where weights come from memory.
    constexpr bool kHurries = AnyFetch::kIsInParts;
    constexpr int64_t kAhead = 2;  // groups that are multiplied before one is scaled
    constexpr int64_t kSums = 4;   // tiles in memory
    alignas(64) int32_t sums[kSums][kRows][16];
    const int64_t nb = p.k / kBlock;
    const int64_t k = p.k;
    const int8_t* q = p.quantized.q + row * k;
    const int64_t column = panel * 16;
    const auto mask = static_cast<__mmask16>(p.m - column < 16 ? (1u << (p.m - column)) - 1u : 0xffffu);
    float* y = p.y + row * p.m + column;
    const int64_t m = p.m;
    __m512 sum[kRows];
    if (begin == 0) {
#pragma GCC unroll 16
      for (int64_t t = 0; t < kRows; ++t) sum[t] = _mm512_setzero_ps();
    } else {
#pragma GCC unroll 16
      for (int64_t t = 0; t < kRows; ++t) sum[t] = _mm512_maskz_loadu_ps(mask, y + t * m);
    }
    const auto multiply = [&](int64_t group) {
      _tile_zero(0);
      _tile_loadd(1, q + group * Format::kGroup, k);
      _tile_loadd(2, Panel::block(bytes, group / kGroups) + group % kGroups * Format::kGroup * 16, kTileLine);
      if constexpr (Panel::kOffset == 0) {
        _tile_dpbssd(0, 1, 2);
      } else {
        _tile_dpbssd(0, 1, 3);
        _tile_dpbsud(0, 1, 2);
      }
    };
    const auto store = [&](int64_t group) { _tile_stored(0, sums[group % kSums], kTileLine); };
    const auto scale = [&](int64_t group) __attribute__((always_inline)) {
      const int32_t(&c)[kRows][16] = sums[group % kSums];
      const int64_t block = group / kGroups;
      typename Panel::Scales w;
      w.load(bytes, nb, block);
      const __m512 w_scale = w.scale(0, static_cast<int>(group % kGroups));
      const float* scales = x.scales + (block - begin) * kRows;
#pragma GCC unroll 16
      for (int t = 0; t < kRows; ++t) {
        if constexpr (kHurries) {
          if (t % 4 == 0) fetch.part_of_step();
        }
        const __m512i whole = _mm512_load_si512(c[t]);
        const __m512 both = _mm512_mul_ps(w_scale, _mm512_set1_ps(scales[t]));
        sum[t] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(whole), both, sum[t]);
      }
      if constexpr (Format::kHasMin) {
        const __m512 w_min = w.min(0, static_cast<int>(group % kGroups));
        const float* totals = x.totals + (group - begin * kGroups) * kRows;
#pragma GCC unroll 16
        for (int t = 0; t < kRows; ++t) sum[t] = _mm512_fmadd_ps(w_min, _mm512_set1_ps(totals[t]), sum[t]);
      }
    };
    const auto begin_step = [&](int64_t group) __attribute__((always_inline)) {
      if (group % kGroups != 0) return;
      if constexpr (kHurries) {
        fetch.begin_step();
      } else {
        fetch.step();
      }
    };
    int64_t group = begin * kGroups;
    const int64_t last = end * kGroups;
    const int64_t ahead = last - group < kAhead ? last - group : kAhead;
    for (int64_t i = group; i < group + ahead; ++i) {
      multiply(i);
      store(i);
    }
    for (; group < last - ahead; ++group) {
      begin_step(group);
      multiply(group + ahead);
      scale(group);
      store(group + ahead);
    }
    for (; group < last; ++group) {
      begin_step(group);
      scale(group);
    }
    if (end == nb && p.bias != nullptr) {
      const __m512 bias = _mm512_maskz_loadu_ps(mask, p.bias + column);
#pragma GCC unroll 16
      for (int64_t t = 0; t < kRows; ++t) sum[t] = _mm512_add_ps(sum[t], bias);
    }
#pragma GCC unroll 16
    for (int64_t t = 0; t < kRows; ++t) _mm512_mask_storeu_ps(y + t * m, mask, sum[t]);
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
