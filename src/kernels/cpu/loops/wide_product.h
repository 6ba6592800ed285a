// Products of quantized weights and a batch of rows of activations: one panel by up to 16 rows, block by
// block, for an ISA with registers for a block of a panel beside the sums of so many rows. Weights are read,
// and unpacked if they are packed, once for so many rows, and at an even pace, so that memory is read beside
// the arithmetic (docs/decisions/009, "A panel by all rows").
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/cpu/loops/panel.h"
#include "kernels/cpu/loops/panel_int8.h"
#include "kernels/cpu/opaque.h"
#include "kernels/cpu/params.h"

namespace inferno::kernels {
namespace {

// kGroups numbers of each of n_rows rows and nb blocks, which lie (rows, blocks, groups), to where a block
// has its own, (groups, to_rows); from one block to the next it is block_bytes. Shifted right, where they are
// integers; zeros for rows that are missing.
template <class V, int kGroups, int kShift>
[[gnu::noinline]] void put_numbers(const float* numbers, int64_t n_rows, int64_t nb, int64_t to_rows,
                                   int64_t block_bytes, uint8_t* to) {
  using F = typename V::F;
  const int64_t n = nb * kGroups;
  for (int64_t i = 0; i < n; i += V::kLanes) {
    const int64_t some = n - i < V::kLanes ? n - i : V::kLanes;
    F x[V::kLanes];
#pragma GCC unroll 16
    for (int64_t t = 0; t < V::kLanes; ++t)
      x[t] = t < n_rows ? V::load(numbers + t * n + i, some) : V::zero();
    V::transpose(x);
    alignas(64) float columns[V::kLanes][V::kLanes];
#pragma GCC unroll 16
    for (int64_t j = 0; j < V::kLanes; ++j) V::store(columns[j], x[j]);
    for (int64_t j = 0; j < some; ++j) {
      const auto column = V::template shift_right_i32<kShift>(V::load_bytes(columns[j]));
      auto* place =
          reinterpret_cast<float*>(to + (i + j) / kGroups * block_bytes) + (i + j) % kGroups * to_rows;
      V::store(place, V::float_of_bits(column), to_rows);
    }
  }
}

// kRows rows of activations side by side: of each block the bytes of all, then their scales and, of each
// group of weights that share one, what takes back their offset or, where they have minimums, the totals. So
// one pointer finds all of it, where rows as they lie take several each.
template <class V, class Format, int kRows>
class RowsSideBySide {
 public:
  static constexpr int kGroups = kBlock / Format::kGroup;
  static constexpr bool kHasStarts = Format::kOffset > 0, kHasTotals = Format::kHasMin;
  static_assert(!(kHasStarts && kHasTotals));
  static constexpr int64_t kBlockBytes =
      kRows * (kBlock + 4 * (1 + (kHasStarts || kHasTotals ? kGroups : 0)));

  explicit RowsSideBySide(const uint8_t* blocks) : blocks_(blocks) {}

  // Those of p from row r on; zeros take the place of rows that are missing. `to` has room for
  // p.k / kBlock * kBlockBytes.
  static void put(const PanelMatmulParams& p, int64_t r, uint8_t* to) {
    const int64_t nb = p.k / kBlock;
    const int64_t n = p.n - r < kRows ? p.n - r : kRows;
    const QuantizedRows& x = p.quantized;
    for (int64_t t = 0; t < n; ++t) {
      for (int64_t b = 0; b < nb; ++b)
        std::memcpy(to + b * kBlockBytes + t * kBlock, x.q + (r + t) * p.k + b * kBlock, kBlock);
    }
    for (int64_t t = n; t < kRows; ++t) {
      for (int64_t b = 0; b < nb; ++b) std::memset(to + b * kBlockBytes + t * kBlock, 0, kBlock);
    }
    put_numbers<V, 1, 0>(x.scale + r * nb, n, nb, kRows, kBlockBytes, to + kScales);
    if constexpr (kHasTotals) {
      const float* totals = (kGroups == 1 ? x.total : x.half_total) + r * nb * kGroups;
      put_numbers<V, kGroups, 0>(totals, n, nb, kRows, kBlockBytes, to + kOfGroups);
    }
    if constexpr (kHasStarts) {
      constexpr int kShift = __builtin_ctz(128 / Format::kOffset);
      const int32_t* sums = (kGroups == 1 ? x.sum : x.half) + r * nb * kGroups;
      put_numbers<V, kGroups, kShift>(reinterpret_cast<const float*>(sums), n, nb, kRows, kBlockBytes,
                                      to + kOfGroups);
    }
  }

  // Of one block.
  class Block {
   public:
    // Each is read for itself: whoever keeps what is read for another group has no register left for it.
    explicit Block(const uint8_t* at) : at_(at) { INFERNO_OPAQUE_POINTER(at_); }
    typename V::I quad(int t, int v) const {
      return V::repeat4(reinterpret_cast<const int8_t*>(at_) + t * kBlock + v * 4);
    }
    typename V::F scale(int t) const { return V::set(get<float>(kScales, t)); }
    typename V::I start(int t, int group) const {
      if constexpr (kHasStarts) {
        return V::set_i32(get<int32_t>(kOfGroups + group * kRows * 4, t));
      } else {
        return V::zero_i32();
      }
    }
    typename V::F total(int t, int group) const {
      return V::set(get<float>(kOfGroups + group * kRows * 4, t));
    }

   private:
    template <class Number>
    Number get(int64_t array, int t) const {
      Number x;
      std::memcpy(&x, at_ + array + t * 4, 4);
      return x;
    }
    const uint8_t* at_;
  };
  Block block(int64_t b) const { return Block(blocks_ + b * kBlockBytes); }

 private:
  static constexpr int64_t kScales = kRows * kBlock, kOfGroups = kScales + kRows * 4;

  const uint8_t* blocks_;
};

// Asks for what lies ahead of a stream of blocks, into the first-level cache: so many lines of each block, of
// kBytes bytes or nearly, one at a time. As LinesAhead (fetcher.h), but that how many is known beforehand, so
// that asking takes no branch.
template <int64_t kBytes>
struct BlocksAhead {
  static constexpr int64_t kLines = (kBytes + 63) / 64;
  const uint8_t* at;
  int64_t pace;  // bytes of a block

  BlocksAhead(const uint8_t* panel, int64_t panel_bytes, int64_t n_blocks)
      : at(panel + kAhead), pace(panel_bytes / n_blocks) {}
  void next_block() { at += pace; }
  [[gnu::always_inline]] void ask(int64_t line) const {
    if (line < kLines) __builtin_prefetch(at + line * 64, 0, 3);
  }

 private:
  // Fewer wait longer for memory; docs/decisions/009 has other numbers.
  static constexpr int64_t kAhead = 97 * 64;
};
template <class Upper, class Lower>
struct BlocksOfPlanesAhead {
  static constexpr int64_t kLines = Upper::kLines + Lower::kLines;
  Upper upper;
  Lower lower;

  void next_block() {
    upper.next_block();
    lower.next_block();
  }
  [[gnu::always_inline]] void ask(int64_t line) const {
    line < Upper::kLines ? upper.ask(line) : lower.ask(line - Upper::kLines);
  }
};

// What a block's bytes come to, its part of all scales included.
template <class BytesOfPanel>
constexpr int64_t bytes_of_block(const BytesOfPanel& panel_bytes) {
  constexpr int64_t kBlocks = 256;  // of which all formats' units are parts
  return (panel_bytes(kBlocks * kBlock) + kBlocks - 1) / kBlocks;
}

template <class Format, class Place>
auto blocks_ahead(const PanelMatmulParams& p, const Place& panel) {
  const int64_t nb = p.k / kBlock;
  if constexpr (requires { Format::panel(p, 0); }) {
    using Upper = BlocksAhead<bytes_of_block(Format::upper_bytes)>;
    using Lower = BlocksAhead<bytes_of_block(Format::lower_bytes)>;
    return BlocksOfPlanesAhead<Upper, Lower>{Upper(panel.upper, Format::upper_bytes(p.k), nb),
                                             Lower(panel.lower, Format::lower_bytes(p.k), nb)};
  } else {
    return BlocksAhead<bytes_of_block(Format::panel_bytes)>(panel, Format::panel_bytes(p.k), nb);
  }
}

template <class V, class Format>
class WideProduct {
 public:
  static constexpr int kTileRows = V::kWideRows;
  // More gain nothing by it (docs/decisions/009).
  static constexpr int64_t kMostRows = 2 * kTileRows;
  // Fewer fit into one tile of two panels.
  static constexpr int kFewestRows = V::kTileRows + 1;

  static int64_t scratch_bytes(int64_t k) {
    return kMostRows / kTileRows * (k / kBlock) * Rows<kTileRows>::kBlockBytes;
  }

  // From kFewestRows to kMostRows rows.
  static void multiply(const PanelMatmulParams& p) {
    const int64_t n_tiles = (p.n + kTileRows - 1) / kTileRows;
    multiply_tiles<kFewestRows + 1>(p, n_tiles, (p.n + n_tiles - 1) / n_tiles);
  }

 private:
  template <int kRows>
  using Rows = RowsSideBySide<V, Format, kRows>;
  // Of panels that all tiles are multiplied by, one after the other: they stay in the second-level cache.
  static constexpr int64_t kGroupBytes = 192 * 1024;

  // Tiles of tile_rows rows or one less; an odd number has one more beside it, of zeros.
  static_assert(kFewestRows % 2 == 1 && kTileRows % 2 == 0);
  template <int kRows>
  static void multiply_tiles(const PanelMatmulParams& p, int64_t n_tiles, int64_t tile_rows) {
    if constexpr (kRows < kTileRows) {
      if (tile_rows > kRows) return multiply_tiles<kRows + 2>(p, n_tiles, tile_rows);
    }
    const int64_t tile_bytes = p.k / kBlock * Rows<kRows>::kBlockBytes;
    if (!p.scratch_is_kept) {
      for (int64_t i = 0; i < n_tiles; ++i) Rows<kRows>::put(p, i * kRows, p.scratch + i * tile_bytes);
    }
    const int64_t group =
        n_tiles == 1 ? p.panel_end - p.panel_begin : 1 + kGroupBytes / Format::panel_bytes(p.k);
    for (int64_t begin = p.panel_begin; begin < p.panel_end; begin += group) {
      const int64_t end = begin + group < p.panel_end ? begin + group : p.panel_end;
      for (int64_t i = 0; i < n_tiles; ++i) {
        const Rows<kRows> x(p.scratch + i * tile_bytes);
        for (int64_t panel = begin; panel < end; ++panel) multiply_panel<kRows>(p, panel, i * kRows, x);
      }
    }
  }

  static constexpr int kGroups = kBlock / Format::kGroup;
  static constexpr int kVectors = Format::kGroup / 4;

  template <int kRows>
  [[gnu::noinline]] static void multiply_panel(const PanelMatmulParams& p, int64_t panel, int64_t r,
                                               const Rows<kRows>& x) {
    const int64_t nb = p.k / kBlock;
    const auto place = panel_at<Format>(p, panel);
    auto ahead = blocks_ahead<Format>(p, place);
    typename V::F y[kRows];
#pragma GCC unroll 16
    for (int t = 0; t < kRows; ++t) y[t] = V::zero();
    for (int64_t unit = 0; unit < nb; unit += Format::kUnitBlocks) {
      typename Format::Scales scales;
      scales.load(place, nb, unit);
      for (int64_t j = 0; j < Format::kUnitBlocks; ++j, ahead.next_block()) {
        const auto block = Format::block(place, unit + j);
#pragma GCC unroll 2
        for (int group = 0; group < kGroups; ++group)
          add_group<kRows>(block, scales, j, group, x.block(unit + j), ahead, y);
      }
    }
    store(p, panel, r, y);
  }

  // The operations of panel_int8.h in the same order for each output, so that bits are the same.
  template <int kRows, class Place, class Ahead>
  [[gnu::always_inline]] static void add_group(const Place& block, const typename Format::Scales& scales,
                                               int64_t j, int group, const typename Rows<kRows>::Block& x,
                                               const Ahead& ahead, typename V::F (&y)[kRows]) {
    using F = typename V::F;
    using I = typename V::I;
    I w[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) w[v] = Format::bytes(block, group * kVectors + v);
    const F w_scale = scales.scale(j, group);
    F w_min = V::zero();
    if constexpr (Format::kHasMin) w_min = scales.min(j, group);
    constexpr int64_t kSteps = kRows * kGroups;
#pragma GCC unroll 16
    for (int t = 0; t < kRows; ++t) {
      const int64_t step = group * kRows + t;
#pragma GCC unroll 4
      for (int64_t line = step * Ahead::kLines / kSteps; line < (step + 1) * Ahead::kLines / kSteps; ++line)
        ahead.ask(line);
      INFERNO_OPAQUE(y[t]);  // else all lines are asked for at once
      I sum = x.start(t, group);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) sum = V::dot(sum, w[v], x.quad(t, group * kVectors + v));
      y[t] = V::fma(V::to_float(sum), V::mul(w_scale, x.scale(t)), y[t]);
      if constexpr (Format::kHasMin) y[t] = V::fma(w_min, x.total(t, group), y[t]);
    }
  }

  // Of rows from r on, as far as they are there.
  template <int kRows>
  static void store(const PanelMatmulParams& p, int64_t panel, int64_t r, const typename V::F (&y)[kRows]) {
    using F = typename V::F;
    const int64_t row = panel * V::kLanes;
    const int64_t n = p.m - row < V::kLanes ? p.m - row : V::kLanes;
    const F bias = p.bias == nullptr ? V::zero() : V::load(p.bias + row, n);
#pragma GCC unroll 16
    for (int t = 0; t < kRows; ++t) {
      if (r + t >= p.n) continue;
      V::store(p.y + (r + t) * p.m + row, p.bias == nullptr ? y[t] : V::add(y[t], bias), n);
    }
  }
};

}  // namespace
}  // namespace inferno::kernels
