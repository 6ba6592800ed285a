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
constexpr int64_t kTileNumbers = kRows * kElements;
static_assert(kSplitRows == kRows && kSplitCols == kElements && kSplitParts == 3);

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
// nothing is lost after the third. An infinity has no rest.
void split_block(const float* x, int64_t n, uint16_t* tile) {
  constexpr int kInfinity = 0x08 | 0x10;
  const __m512i upper = _mm512_set1_epi32(static_cast<int>(0xffff0000));
  for (int64_t i = 0; i < kElements; i += 16) {
    const int64_t left = n - i;
    const auto mask = static_cast<__mmask16>(left >= 16 ? 0xffffu : left > 0 ? (1u << left) - 1u : 0u);
    __m512 rest = _mm512_maskz_loadu_ps(mask, x + i);
    const __mmask16 finite = _knot_mask16(_mm512_fpclass_ps_mask(rest, kInfinity));
    for (int64_t part = 0; part < kSplitParts; ++part) {
      const __m512i bits = _mm512_and_si512(_mm512_castps_si512(rest), upper);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(tile + part * kTileNumbers + i),
                          _mm512_cvtepi32_epi16(_mm512_srli_epi32(bits, 16)));
      rest = _mm512_maskz_sub_ps(finite, rest, _mm512_castsi512_ps(bits));
    }
  }
}

// Of a tile of 16 rows, that of block b and the first part. The other two follow it.
template <class Number>
Number* tile_of(Number* tiles, int64_t row, int64_t k, int64_t b) {
  return tiles + (row / kRows * blocks_of(k) + b) * kSplitParts * kTileNumbers;
}

void split(const SplitParams& p) {
  for (int64_t r = 0; r < p.n_rows; ++r) {
    const int64_t row = p.row + r;
    const float* x = p.x + r * p.k;
    for (int64_t j = 0; j < p.n_cols; j += kElements) {
      uint16_t* tile = tile_of(p.tiles, row, p.k, (p.col + j) / kElements);
      split_block(x + j, p.n_cols - j, tile + row % kRows * kElements);
    }
  }
}

using Sums = float[kRows][kRows];

// What n rows of activations, from `row` on, come to with a panel.
void store(const PanelMatmulParams& p, const Sums& sums, int64_t row, int64_t n, int64_t panel) {
  const int64_t column = panel * kRows;
  const int64_t n_columns = p.m - column < kRows ? p.m - column : kRows;
  const auto mask = static_cast<__mmask16>((1u << n_columns) - 1u);
  const __m512 bias = p.bias == nullptr ? _mm512_setzero_ps() : _mm512_maskz_loadu_ps(mask, p.bias + column);
  for (int64_t r = 0; r < n; ++r) {
    const __m512 sum = _mm512_load_ps(sums[r]);
    _mm512_mask_storeu_ps(p.y + (row + r) * p.m + column, mask,
                          p.bias == nullptr ? sum : _mm512_add_ps(sum, bias));
  }
}

// Two tiles of rows times one panel or two. Registers: sums in 0 to 3, activations in 4 and 5, weights in 6
// and 7.
TileShapes two_by_two(int64_t first_rows, int64_t second_rows) {
  TileShapes shapes;
  for (const int tile : {0, 1, 4}) shapes.set(tile, first_rows, kTileLine);
  for (const int tile : {2, 3, 5}) shapes.set(tile, second_rows, kTileLine);
  for (const int tile : {6, 7}) shapes.set(tile, kRows, kTileLine);
  return shapes;
}

// n rows, more than 16, from `row` on.
template <bool kTwoPanels>
void multiply_two(const PanelMatmulParams& p, int64_t row, int64_t n, int64_t panel) {
  const int64_t nb = blocks_of(p.k);
  const uint8_t* w0 = p.panels + panel * panel_bytes(p.k);
  const uint8_t* w1 = w0 + panel_bytes(p.k);
  const uint16_t* x0 = tile_of(p.split, row, p.k, 0);
  const uint16_t* x1 = tile_of(p.split, row + kRows, p.k, 0);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (int64_t b = 0; b < nb; ++b) {
    _tile_loadd(6, w0 + b * kTileBytes, kTileLine);
    if constexpr (kTwoPanels) _tile_loadd(7, w1 + b * kTileBytes, kTileLine);
#pragma GCC unroll 3
    for (int64_t part = 0; part < kSplitParts; ++part) {
      _tile_loadd(4, x0 + (b * kSplitParts + part) * kTileNumbers, kTileLine);
      _tile_dpbf16ps(0, 4, 6);
      if constexpr (kTwoPanels) _tile_dpbf16ps(1, 4, 7);
      _tile_loadd(5, x1 + (b * kSplitParts + part) * kTileNumbers, kTileLine);
      _tile_dpbf16ps(2, 5, 6);
      if constexpr (kTwoPanels) _tile_dpbf16ps(3, 5, 7);
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
void multiply_one(const PanelMatmulParams& p, int64_t row, int64_t n, int64_t panel, int64_t step) {
  const int64_t nb = blocks_of(p.k);
  const uint8_t* w = p.panels + panel * panel_bytes(p.k);
  const int64_t to_next = step * panel_bytes(p.k);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (int64_t b = 0; b < nb; ++b, w += kTileBytes) {
    for (int i = 0; i < (kFourPanels ? 4 : 1); ++i) fetch_tile(w + i * to_next + kFetchAhead);
    const uint16_t* x = tile_of(p.split, row, p.k, b);
    _tile_loadd(4, x, kTileLine);
    _tile_loadd(5, x + kTileNumbers, kTileLine);
    _tile_loadd(6, x + 2 * kTileNumbers, kTileLine);
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
  store(p, sums, row, n, panel);
  if constexpr (kFourPanels) {
    _tile_stored(1, sums, kTileLine);
    store(p, sums, row, n, panel + step);
    _tile_stored(2, sums, kTileLine);
    store(p, sums, row, n, panel + 2 * step);
    _tile_stored(3, sums, kTileLine);
    store(p, sums, row, n, panel + 3 * step);
  }
}

// Up to 16 rows, from `row` on.
void multiply_few(const PanelMatmulParams& p, int64_t row, int64_t n) {
  use_tiles(one_by_four(n));
  const int64_t step = (p.panel_end - p.panel_begin) / 4;
  for (int64_t i = p.panel_begin; i < p.panel_begin + step; ++i) multiply_one<true>(p, row, n, i, step);
  for (int64_t i = p.panel_begin + 4 * step; i < p.panel_end; ++i) multiply_one<false>(p, row, n, i, 0);
  _tile_release();
}

// Rows begin .. end - 1, 32 at a time; the last may be 17 or more.
void multiply_many(const PanelMatmulParams& p, int64_t begin, int64_t end) {
  for (int64_t panel = p.panel_begin; panel < p.panel_end; panel += 2) {
    for (int64_t row = begin; row < end; row += 2 * kRows) {
      const int64_t n = end - row < 2 * kRows ? end - row : 2 * kRows;
      if (panel + 1 < p.panel_end) {
        multiply_two<true>(p, row, n, panel);
      } else {
        multiply_two<false>(p, row, n, panel);
      }
    }
  }
}

// Rows whose parts stay in the second-level cache while all panels are multiplied by them.
int64_t rows_at_once(int64_t k) {
  constexpr int64_t kCacheBytes = 1024 * 1024;
  const int64_t row_bytes =
      (blocks_of(k) + 1) * kElements * kSplitParts * static_cast<int64_t>(sizeof(uint16_t));
  const int64_t rows = kCacheBytes / row_bytes;
  return rows < 4 * kRows ? 4 * kRows : rows / (2 * kRows) * (2 * kRows);
}

void multiply(const PanelMatmulParams& p) {
  written_for_tiles(p.split);
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
