// Products of bfloat16 weights. Activations are sums of three bfloat16, so that all products are exact; tiles
// sum them in float32 (TDPBF16PS), 32 elements of a row at a time. So an output does not depend on how many
// rows there are, and is as near to the definition as one made of fused multiply-adds. (Float16 weights, as
// two bfloat16 each: prompts were 1.3 times as fast so, but decoding 0.7 times.)
//
// A panel is, for each 32 elements, zeros after the last, one tile B: (16 pairs of elements, 16 rows, 2).
#include <cstring>

#include "kernels/cpu/amx/functions.h"
#include "kernels/cpu/amx/tiles.h"

namespace inferno::kernels::amx {
namespace {

constexpr int64_t kRows = 16;      // of a panel, and of a tile of activations
constexpr int64_t kElements = 32;  // of a row, in a tile
constexpr int64_t kTileBytes = 16 * kTileLine;
constexpr int kParts = 3;  // of activations

constexpr int64_t blocks_of(int64_t k) {
  return (k + kElements - 1) / kElements;
}

int64_t panel_bytes(int64_t k) {
  return blocks_of(k) * kTileBytes;
}

void pack(const uint8_t* w, int64_t stride, int64_t n_rows, int64_t k, uint8_t* panel) {
  if (n_rows < kRows || k % kElements != 0) std::memset(panel, 0, static_cast<size_t>(panel_bytes(k)));
  for (int64_t row = 0; row < n_rows; ++row) {
    const uint8_t* from = w + row * stride;
    uint8_t* to = panel + row * 4;
    int64_t j = 0;
    for (; j + 2 <= k; j += 2) std::memcpy(to + j / 2 * kTileLine, from + j * 2, 4);
    if (j < k) std::memcpy(to + j / 2 * kTileLine, from + j * 2, 2);
  }
}

// The upper half of a float's bits is a bfloat16, what is left has 16 bits of mantissa less eight, and so on:
// nothing is lost after the third.
void split(const float* x, int64_t n, const SplitRows& y) {
  const __m512i upper = _mm512_set1_epi32(static_cast<int>(0xffff0000));
  for (int64_t i = 0; i < n; i += 16) {
    const auto mask = static_cast<__mmask16>(n - i < 16 ? (1u << (n - i)) - 1u : 0xffffu);
    __m512 rest = _mm512_maskz_loadu_ps(mask, x + i);
    // An infinity has no rest.
    constexpr int kInfinity = 0x08 | 0x10;
    const __mmask16 finite = _knot_mask16(_mm512_fpclass_ps_mask(rest, kInfinity));
    for (int part = 0; part < kParts; ++part) {
      const __m512i bits = _mm512_and_si512(_mm512_castps_si512(rest), upper);
      _mm256_mask_storeu_epi16(y.parts + part * y.stride + i, mask,
                               _mm512_cvtepi32_epi16(_mm512_srli_epi32(bits, 16)));
      rest = _mm512_maskz_sub_ps(finite, rest, _mm512_castsi512_ps(bits));
    }
  }
}

// The last elements of rows, where they are fewer than 32, with zeros after them.
struct alignas(64) Rest {
  uint16_t parts[kParts][kRows][kElements];
};

// Up to 16 rows of activations, from `first` on.
class RowTile {
 public:
  RowTile(const PanelMatmulParams& p, int64_t first, int64_t n) : p_(p), first_(first), n_(n) {
    const int64_t n_rest = p.k % kElements;
    if (n_rest == 0) return;
    std::memset(&rest_, 0, sizeof rest_);
    for (int part = 0; part < kParts; ++part) {
      for (int64_t r = 0; r < n; ++r) {
        std::memcpy(rest_.parts[part][r], part_of(part) + (r + 1) * p.k - n_rest,
                    static_cast<size_t>(n_rest) * sizeof(uint16_t));
      }
    }
    written_for_tiles(&rest_);
  }

  // Their elements of block b, as a tile, and the bytes from one row of it to the next.
  const uint16_t* at(int part, int64_t b) const {
    return is_whole(b) ? part_of(part) + b * kElements : rest_.parts[part][0];
  }
  int64_t stride(int64_t b) const {
    return (is_whole(b) ? p_.k : kElements) * static_cast<int64_t>(sizeof(uint16_t));
  }

  // What they come to with a panel.
  void store(const float (&sums)[kRows][kRows], int64_t panel) const {
    const int64_t column = panel * kRows;
    const int64_t n_columns = p_.m - column < kRows ? p_.m - column : kRows;
    const auto mask = static_cast<__mmask16>((1u << n_columns) - 1u);
    const __m512 bias =
        p_.bias == nullptr ? _mm512_setzero_ps() : _mm512_maskz_loadu_ps(mask, p_.bias + column);
    for (int64_t r = 0; r < n_; ++r) {
      const __m512 sum = _mm512_load_ps(sums[r]);
      _mm512_mask_storeu_ps(p_.y + (first_ + r) * p_.m + column, mask,
                            p_.bias == nullptr ? sum : _mm512_add_ps(sum, bias));
    }
  }

 private:
  bool is_whole(int64_t b) const { return (b + 1) * kElements <= p_.k; }
  const uint16_t* part_of(int part) const { return p_.split.parts + part * p_.split.stride + first_ * p_.k; }

  const PanelMatmulParams& p_;
  int64_t first_, n_;
  Rest rest_;
};

using Sums = float[kRows][kRows];

// Two tiles of rows times one panel or two. Registers: sums in 0 to 3, activations in 4 and 5, weights in 6
// and 7.
TileShapes two_by_two(int64_t first_rows, int64_t second_rows) {
  TileShapes shapes;
  for (const int tile : {0, 1, 4}) shapes.set(tile, first_rows, kTileLine);
  for (const int tile : {2, 3, 5}) shapes.set(tile, second_rows, kTileLine);
  for (const int tile : {6, 7}) shapes.set(tile, kRows, kTileLine);
  return shapes;
}

template <bool kTwoPanels>
void multiply_two(const PanelMatmulParams& p, const RowTile& first, const RowTile& second, int64_t panel) {
  const int64_t nb = blocks_of(p.k);
  const uint8_t* w0 = p.panels + panel * panel_bytes(p.k);
  const uint8_t* w1 = w0 + panel_bytes(p.k);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (int64_t b = 0; b < nb; ++b) {
    const int64_t stride = first.stride(b);
    _tile_loadd(6, w0 + b * kTileBytes, kTileLine);
    if constexpr (kTwoPanels) _tile_loadd(7, w1 + b * kTileBytes, kTileLine);
#pragma GCC unroll 3
    for (int part = 0; part < kParts; ++part) {
      _tile_loadd(4, first.at(part, b), stride);
      _tile_dpbf16ps(0, 4, 6);
      if constexpr (kTwoPanels) _tile_dpbf16ps(1, 4, 7);
      _tile_loadd(5, second.at(part, b), stride);
      _tile_dpbf16ps(2, 5, 6);
      if constexpr (kTwoPanels) _tile_dpbf16ps(3, 5, 7);
    }
  }
  alignas(64) Sums sums;
  _tile_stored(0, sums, kTileLine);
  first.store(sums, panel);
  _tile_stored(2, sums, kTileLine);
  second.store(sums, panel);
  if constexpr (kTwoPanels) {
    _tile_stored(1, sums, kTileLine);
    first.store(sums, panel + 1);
    _tile_stored(3, sums, kTileLine);
    second.store(sums, panel + 1);
  }
}

// One tile of rows times one panel or, side by side, four that are `step` apart: four streams through memory,
// whose sums do not wait for each other. Registers: sums in 0 to 3, the parts of activations in 4 to 6,
// weights in 7.
TileShapes one_by_four(int64_t n_rows) {
  TileShapes shapes;
  for (int tile = 0; tile < 7; ++tile) shapes.set(tile, n_rows, kTileLine);
  shapes.set(7, kRows, kTileLine);
  return shapes;
}

constexpr int64_t kFetchAhead = 2048;  // in bytes: what memory gives meanwhile
void fetch_tile(const uint8_t* tile) {
  for (int64_t line = 0; line < kTileBytes; line += kTileLine) __builtin_prefetch(tile + line, 0, 2);
}

template <bool kFourPanels>
void multiply_one(const PanelMatmulParams& p, const RowTile& rows, int64_t panel, int64_t step) {
  const int64_t nb = blocks_of(p.k);
  const uint8_t* w = p.panels + panel * panel_bytes(p.k);
  const int64_t to_next = step * panel_bytes(p.k);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (int64_t b = 0; b < nb; ++b, w += kTileBytes) {
    const int64_t stride = rows.stride(b);
    for (int i = 0; i < (kFourPanels ? 4 : 1); ++i) fetch_tile(w + i * to_next + kFetchAhead);
    _tile_loadd(4, rows.at(0, b), stride);
    _tile_loadd(5, rows.at(1, b), stride);
    _tile_loadd(6, rows.at(2, b), stride);
    _tile_loadd(7, w, kTileLine);
    _tile_dpbf16ps(0, 4, 7);
    _tile_dpbf16ps(0, 5, 7);
    _tile_dpbf16ps(0, 6, 7);
    if constexpr (kFourPanels) {
      _tile_loadd(7, w + to_next, kTileLine);
      _tile_dpbf16ps(1, 4, 7);
      _tile_dpbf16ps(1, 5, 7);
      _tile_dpbf16ps(1, 6, 7);
      _tile_loadd(7, w + 2 * to_next, kTileLine);
      _tile_dpbf16ps(2, 4, 7);
      _tile_dpbf16ps(2, 5, 7);
      _tile_dpbf16ps(2, 6, 7);
      _tile_loadd(7, w + 3 * to_next, kTileLine);
      _tile_dpbf16ps(3, 4, 7);
      _tile_dpbf16ps(3, 5, 7);
      _tile_dpbf16ps(3, 6, 7);
    }
  }
  alignas(64) Sums sums;
  _tile_stored(0, sums, kTileLine);
  rows.store(sums, panel);
  if constexpr (kFourPanels) {
    _tile_stored(1, sums, kTileLine);
    rows.store(sums, panel + step);
    _tile_stored(2, sums, kTileLine);
    rows.store(sums, panel + 2 * step);
    _tile_stored(3, sums, kTileLine);
    rows.store(sums, panel + 3 * step);
  }
}

// Up to 16 rows, from `row` on.
void multiply_few(const PanelMatmulParams& p, int64_t row, int64_t n) {
  const Tiles tiles(one_by_four(n));
  const RowTile rows(p, row, n);
  const int64_t step = (p.panel_end - p.panel_begin) / 4;
  for (int64_t i = p.panel_begin; i < p.panel_begin + step; ++i) multiply_one<true>(p, rows, i, step);
  for (int64_t i = p.panel_begin + 4 * step; i < p.panel_end; ++i) multiply_one<false>(p, rows, i, 0);
}

// Rows begin .. end - 1, 32 at a time; the last may be 17 or more.
void multiply_many(const PanelMatmulParams& p, int64_t begin, int64_t end) {
  for (int64_t panel = p.panel_begin; panel < p.panel_end; panel += 2) {
    for (int64_t row = begin; row < end; row += 2 * kRows) {
      const int64_t n = end - row < 2 * kRows ? end - row : 2 * kRows;
      const RowTile first(p, row, kRows);
      const RowTile second(p, row + kRows, n - kRows);
      if (panel + 1 < p.panel_end) {
        multiply_two<true>(p, first, second, panel);
      } else {
        multiply_two<false>(p, first, second, panel);
      }
    }
  }
}

// Rows whose parts stay in the second-level cache while all panels are multiplied by them.
int64_t rows_at_once(int64_t k) {
  constexpr int64_t kCacheBytes = 1024 * 1024;
  const int64_t rows = kCacheBytes / (k * kParts * static_cast<int64_t>(sizeof(uint16_t)));
  return rows < 4 * kRows ? 4 * kRows : rows / (2 * kRows) * (2 * kRows);
}

void multiply(const PanelMatmulParams& p) {
  const int64_t in_pairs = p.n / (2 * kRows) * (2 * kRows);
  const int64_t at_once = rows_at_once(p.k);
  if (in_pairs > 0) {
    const Tiles tiles(two_by_two(kRows, kRows));
    for (int64_t begin = 0; begin < in_pairs; begin += at_once)
      multiply_many(p, begin, begin + at_once < in_pairs ? begin + at_once : in_pairs);
  }
  const int64_t left = p.n - in_pairs;
  if (left > kRows) {
    const Tiles tiles(two_by_two(kRows, left - kRows));
    multiply_many(p, in_pairs, p.n);
  } else if (left > 0) {
    multiply_few(p, in_pairs, left);
  }
}

int64_t no_scratch(int64_t) {
  return 0;
}

}  // namespace

void set_bf16_products(CpuKernels* table) {
  table->split = split;
  table->matmul[static_cast<int>(DType::kBF16)] = {kRows, XForm::kBf16Parts, panel_bytes, no_scratch,
                                                   pack,  multiply};
}

}  // namespace inferno::kernels::amx
