// Products of quantized weights in panels and any number of rows of activations in 8 bits: as a stream, where
// they lie, by all rows of a batch (wide_product.h), or unpacked first, with rows as they lie or spread
// (spread_product.h). What multiplies a tile is in panel_int8.h.
#pragma once

#include <cstdint>

#include "kernels/cpu/loops/fetcher.h"
#include "kernels/cpu/loops/panel.h"
#include "kernels/cpu/loops/panel_int8.h"
#include "kernels/cpu/loops/products.h"
#include "kernels/cpu/loops/spread_product.h"
#include "kernels/cpu/loops/wide_product.h"

namespace inferno::kernels {
namespace {

// Calls fn(b, block, scales, j) for n blocks of a panel that has nb, from number `begin` on: b counts from 0,
// the scales are those of the unit whose block j it is.
template <class Format, class Place, class Fn>
[[gnu::always_inline]] inline void for_blocks(Place from, int64_t nb, int64_t begin, int64_t n,
                                              const Fn& fn) {
  for (int64_t unit = 0; unit < n; unit += Format::kUnitBlocks) {
    typename Format::Scales scales;
    scales.load(from, nb, begin + unit);
    for (int64_t j = 0; j < Format::kUnitBlocks; ++j)
      fn(unit + j, Format::block(from, begin + unit + j), scales, j);
  }
}

// What a panel of any format is unpacked to for many rows of activations: the vectors of its blocks, then
// float32 scales and, where there are, minimums: (nb, groups, rows).
template <class V, int kGroupElements, bool kMin, int kStoredOffset = kMin ? 0 : stored_offset<V>(128),
          int kMostByte = UINT8_MAX>
struct Unpacked {
  static constexpr int kGroup = kGroupElements;
  static constexpr bool kHasMin = kMin;
  static constexpr int kOffset = kStoredOffset;
  static constexpr int kMost = kMostByte;
  static constexpr int64_t kBlockBytes = kBlock * V::kLanes;
  static constexpr int64_t kGroups = kBlock / kGroup;

  static int64_t panel_bytes(int64_t k) {
    return k / kBlock *
           (kBlockBytes + (kMin ? 2 : 1) * kGroups * V::kLanes * static_cast<int64_t>(sizeof(float)));
  }
  static const uint8_t* block(const uint8_t* panel, int64_t b) { return panel + b * kBlockBytes; }
  static typename V::I bytes(const uint8_t* block, int g) { return V::load_bytes(block + g * 4 * V::kLanes); }
  static constexpr int64_t kUnitBlocks = 1;
  struct Scales {
    const float* scales;
    int64_t to_min;
    void load(const uint8_t* panel, int64_t nb, int64_t b) {
      scales = reinterpret_cast<const float*>(panel + nb * kBlockBytes) + b * kGroups * V::kLanes;
      to_min = nb * kGroups * V::kLanes;
    }
    typename V::F scale(int64_t, int i) const { return V::load(scales + i * V::kLanes); }
    typename V::F min(int64_t, int i) const { return V::load(scales + to_min + i * V::kLanes); }
  };

  // n blocks, from number `begin` on, of a panel that has nb.
  template <class Format, class Place>
  static void unpack(Place from, int64_t nb, int64_t begin, int64_t n, uint8_t* panel) {
    auto* all_scales = reinterpret_cast<float*>(panel + n * kBlockBytes);
    auto* all_mins = all_scales + n * kGroups * V::kLanes;
    for_blocks<Format>(from, nb, begin, n, [&](int64_t b, auto block, const auto& scales, int64_t j) {
#pragma GCC unroll 8
      for (int g = 0; g < kBlockVectors; ++g) {
        const typename V::I q = move_bytes<V, kOffset - Format::kOffset>(Format::bytes(block, g));
        V::store_bytes(panel + b * kBlockBytes + g * 4 * V::kLanes, q);
      }
      for (int i = 0; i < kGroups; ++i) {
        V::store(all_scales + (b * kGroups + i) * V::kLanes, scales.scale(j, i));
        if constexpr (kMin) V::store(all_mins + (b * kGroups + i) * V::kLanes, scales.min(j, i));
      }
    });
  }
};

// The same of signed bytes with a scale for each block, where an ISA multiplies unsigned bytes by signed
// ones: magnitudes, each vector beside one of -1 where a number is negative and 0 elsewhere. w x is |w| (x ^
// sign), but where w < 0 |w| more (x ^ -1 is -x - 1), so after the vectors of a block comes, for each row,
// the sum of |w| of those below 0. Turning x over so takes one operation on any unit; changing its sign takes
// two, or one (vpsignb) that takes the multipliers' time.
template <class V>
struct UnpackedMagnitudes {
  using I = typename V::I;
  static constexpr int kGroup = kBlock;
  static constexpr bool kHasMin = false;
  static constexpr int kOffset = 0;
  static constexpr int64_t kVector = 4 * V::kLanes;
  static constexpr int64_t kBlockBytes = (2 * kBlockVectors + 1) * kVector;
  static constexpr int64_t kUnitBlocks = 1;

  static int64_t panel_bytes(int64_t k) {
    return k / kBlock * (kBlockBytes + V::kLanes * static_cast<int64_t>(sizeof(float)));
  }
  static const uint8_t* block(const uint8_t* panel, int64_t b) { return panel + b * kBlockBytes; }
  static I bytes(const uint8_t* block, int v) { return V::load_bytes(block + 2 * v * kVector); }
  static I signs(const uint8_t* block, int v) { return V::load_bytes(block + (2 * v + 1) * kVector); }
  static I sum_below_zero(const uint8_t* block) { return V::load_bytes(block + 2 * kBlockVectors * kVector); }
  struct Scales {
    const float* scales;
    void load(const uint8_t* panel, int64_t nb, int64_t b) {
      scales = reinterpret_cast<const float*>(panel + nb * kBlockBytes) + b * V::kLanes;
    }
    typename V::F scale(int64_t, int) const { return V::load(scales); }
  };

  template <class Format, class Place>
  static void unpack(Place from, int64_t nb, int64_t begin, int64_t n, uint8_t* panel) {
    auto* all_scales = reinterpret_cast<float*>(panel + n * kBlockBytes);
    for_blocks<Format>(from, nb, begin, n, [&](int64_t b, auto block, const auto& scales, int64_t j) {
      uint8_t* to = panel + b * kBlockBytes;
      I below_zero = V::zero_i32();
#pragma GCC unroll 8
      for (int v = 0; v < kBlockVectors; ++v, to += 2 * kVector) {
        const I w = Format::bytes(block, v);
        const I magnitude = V::abs_bytes(w);
        const I sign = V::signs_of_bytes(w);
        V::store_bytes(to, magnitude);
        V::store_bytes(to + kVector, sign);
        below_zero = V::add_i16(below_zero, V::multiply_pairs(magnitude, sign));
      }
      V::store_bytes(to, V::sub_i32(V::zero_i32(), V::add_pairs(V::zero_i32(), below_zero)));
      V::store(all_scales + b * V::kLanes, scales.scale(j, 0));
    });
  }
};

// Of a format: its own bytes where their products are added up in 16 bits, else what all formats share.
template <class V, class Format>
constexpr auto unpacked() {
  if constexpr (vectors_in_words<V, Format>() > 0) {
    return Unpacked<V, Format::kGroup, Format::kHasMin, Format::kOffset, Format::kMost>();
  } else if constexpr (sums_in_words<V>()) {
    static_assert(Format::kGroup == kBlock && !Format::kHasMin && Format::kOffset == 0);
    return UnpackedMagnitudes<V>();
  } else {
    return Unpacked<V, Format::kGroup, Format::kHasMin>();
  }
}

// Whether an ISA multiplies one panel by all rows of a batch.
template <class V>
constexpr bool is_wide() {
  return requires {
    V::kWideRows;
  };
}

template <class Format>
constexpr bool has_nibbles_alone() {
  if constexpr (requires { Format::kIsNibbles; }) {
    return Format::kIsNibbles;
  } else {
    return false;
  }
}

// Up to so many rows of activations weights are multiplied where they lie; where there are more, once they
// are unpacked. Bytes are, too: a copy whose blocks follow each other, with scales in float32, is paid for by
// 96 rows (timed with AVX-512); by 24 where it is magnitudes and rows are spread for it (AVX2). Others are
// unpacked anew for each tile of rows, which an ISA says how many times pay for. Those that are wide
// (PanelMatmul::wide_rows) are another matter (docs/decisions/009).
template <class V, class Format>
constexpr int64_t rows_in_place() {
  if constexpr (requires { Format::kIsBytes; }) {
    return sums_in_words<V>() ? 23 : 95;
  } else if constexpr (requires { V::kPackedRows; }) {
    return has_nibbles_alone<Format>() ? V::kNibbleRows : V::kPackedRows;
  } else {
    return kStreamedRows;
  }
}

// Weights where they lie, more than kStreamedRows rows of activations.
template <class V, class Format>
struct InPlaceProduct {
  static constexpr int64_t kMostRows = rows_in_place<V, Format>();

  static void multiply(const PanelMatmulParams& p) {
    if constexpr (V::kTilePanels == 2) {
      if (p.run_step != 0) return multiply_two_runs(p);
    }
    int64_t panel = p.panel_begin;
    for (; p.panel_end - panel >= V::kTilePanels; panel += V::kTilePanels)
      multiply_neighbours<V::kTilePanels>(p, panel);
    for (; panel < p.panel_end; ++panel) multiply_neighbours<1>(p, panel);
  }

 private:
  using Place = decltype(panel_at<Format>(PanelMatmulParams(), 0));
  static constexpr int kTileRows = V::kTileRows;
  // Of products with more than kStreamedRows rows: a tile of fewer would have fitted into the one beside it.
  static constexpr int kFewestTileRows =
      is_wide<V>() ? static_cast<int>(kStreamedRows) + 1 : (kTileRows + 1) / 2;
  static_assert(kFewestTileRows <= kStreamedRows + 1);

  // n_rows rows, from kFewestTileRows to kRows.
  template <int kPanels, int kRows, class AnyFetch>
  static void multiply_rows(const PanelMatmulParams& p, const Place (&panels)[kPanels], int64_t panel,
                            int64_t r, int64_t n_rows, AnyFetch fetch) {
    if constexpr (kRows > kFewestTileRows) {
      if (n_rows < kRows) return multiply_rows<kPanels, kRows - 1>(p, panels, panel, r, n_rows, fetch);
    }
    multiply_tile<V, Format, kPanels, kRows>(p, panels, panel, r, fetch);
  }

  // As few tiles as there can be, as large as each other or nearly, but rows that share a product in one.
  template <int kPanels, class AnyFetcher>
  static void multiply_tiles_of(const PanelMatmulParams& p, int64_t panel, int64_t n_tiles,
                                AnyFetcher fetcher) {
    Place panels[kPanels];
    for (int i = 0; i < kPanels; ++i) panels[i] = panel_at<Format>(p, panel + i * panel_step(p));
    constexpr int64_t kShared = Products<V>::kRows;
    static_assert(kTileRows % kShared == 0);
    const int64_t n_shared = (p.n + kShared - 1) / kShared;
    int64_t r = 0;
    for (int64_t i = 1; i <= n_tiles; ++i) {
      const int64_t end = i == n_tiles ? p.n : n_shared * i / n_tiles * kShared;
      multiply_rows<kPanels, kTileRows>(p, panels, panel, r, end - r, fetcher.next_tile());
      r = end;
    }
  }

  template <int kPanels>
  static void multiply_neighbours(const PanelMatmulParams& p, int64_t panel) {
    const int64_t n_tiles = (p.n + kTileRows - 1) / kTileRows;
    if constexpr (kMostRows > kHurriedTiles * kTileRows) {
      if (n_tiles > kHurriedTiles) {
        const int64_t bytes = Format::panel_bytes(p.k);
        return multiply_panels<V, Format, kPanels, Format>(p, panel, p.panels + panel * bytes, bytes);
      }
    }
    multiply_tiles_of<kPanels>(
        p, panel, n_tiles,
        fetcher_of<PanelsFetcher, Format>(p, panel + kPanels, kPanels, n_tiles, p.k / kBlock));
  }

  static void multiply_two_runs(const PanelMatmulParams& p) {
    for_tiles_of_runs(p, [&]<int kRuns>(int64_t panel) {
      const FirstTileFetcher fetcher(lines_ahead_of<kRuns, Format>(p, panel, kLinesAheadOfTiles));
      multiply_tiles_of<kRuns>(p, panel, (p.n + kTileRows - 1) / kTileRows, fetcher);
    });
  }
};

// Weights are unpacked on the way into a product with few rows of activations, and once for a tile of panels
// where there are many, or for more panels, if rows are spread for them (spread_product.h).
template <class V, class Format>
struct QuantizedProduct {
  using Whole = decltype(unpacked<V, Format>());
  using InPlace = InPlaceProduct<V, Format>;
  using Spread = SpreadProduct<V, Format, Whole>;
  static constexpr bool kIsSpread = sums_in_words<V>();
  static constexpr bool kIsWide = is_wide<V>();
  static_assert(!(kIsSpread && kIsWide));
  // PanelMatmul::two_run_rows.
  static constexpr int64_t kTwoRunRows = !takes_two_runs<V>()  ? 0
                                         : V::kTilePanels == 2 ? InPlace::kMostRows
                                                               : kStreamedRows;

  static constexpr WideRows wide_rows() {
    if constexpr (kIsWide) {
      return {WideProduct<V, Format>::kFewestRows, WideProduct<V, Format>::kMostRows};
    } else {
      return {};
    }
  }
  static constexpr int64_t shared_rows() {
    if constexpr (kIsSpread) {
      return Spread::kFewestRows > InPlace::kMostRows ? Spread::kFewestRows : InPlace::kMostRows + 1;
    } else {
      return 0;
    }
  }
  static constexpr int64_t turn_panels() {
    if constexpr (kIsSpread) {
      return Spread::kTurnPanels;
    } else {
      return 0;
    }
  }
  static int64_t scratch_bytes(int64_t k) {
    const int64_t whole = V::kTilePanels * Whole::panel_bytes(k);
    int64_t shared = 0;
    if constexpr (kIsSpread) shared = Spread::scratch_bytes();
    if constexpr (kIsWide) shared = WideProduct<V, Format>::scratch_bytes(k);
    return whole < shared ? shared : whole;
  }

  static void multiply(const PanelMatmulParams& p) {
    if (p.n <= kStreamedRows) return multiply_stream<V, Format>(p);
    if constexpr (kIsWide) {
      if (wide_rows().includes(p.n)) return WideProduct<V, Format>::multiply(p);
    }
    if constexpr (InPlace::kMostRows > kStreamedRows) {
      if (p.n <= InPlace::kMostRows) return InPlace::multiply(p);
    }
    if constexpr (kIsSpread) {
      if (p.n >= shared_rows() && p.panel_end - p.panel_begin >= turn_panels() / 2)
        return Spread::multiply(p);
    }
    int64_t panel = p.panel_begin;
    for (; p.panel_end - panel >= V::kTilePanels; panel += V::kTilePanels)
      multiply_some<V::kTilePanels>(p, panel);
    for (; panel < p.panel_end; ++panel) multiply_some<1>(p, panel);
  }

 private:
  template <int kPanels>
  static void multiply_some(const PanelMatmulParams& p, int64_t panel) {
    const int64_t whole = Whole::panel_bytes(p.k);
    for (int i = 0; i < kPanels; ++i)
      Whole::template unpack<Format>(panel_at<Format>(p, panel + i), p.k / kBlock, 0, p.k / kBlock,
                                     p.scratch + i * whole);
    multiply_panels<V, Whole, kPanels, Format>(p, panel, p.scratch, whole);
  }
};

}  // namespace
}  // namespace inferno::kernels
