// Products of quantized weights in float16: a weight, its scale times its code, is rounded to float16 on the
// way into a tile, activations have been rounded before (XForm::kF16), and sums are float32. What that
// loses is a hundredth of what rounding activations to 8 bits loses; what it gains, and what limits it:
// docs/decisions/004-amx-fp16.md.
//
// A panel is that of ../loops/panel_int8.h and, after it, a float for each of its 16 rows: the power of two
// that takes back what the row's scales are multiplied by, so that its largest weight is near the end of
// float16's range and no weight of a row is lost that matters beside it.
#pragma once

#include "kernels/cpu/amx/tiles.h"
#include "kernels/cpu/avx512_vnni/vector.h"
#include "kernels/cpu/loops/panel_int8.h"

namespace inferno::kernels {
namespace {

constexpr int64_t kHalfRows = 16;  // of a panel, and of a tile of activations
constexpr int64_t kTileBytes = 16 * kTileLine;
constexpr int64_t kTileHalves = kHalfRows * kBlock;
static_assert(kF16Rows == kHalfRows && kF16Cols == kBlock);

// Blocks of two panels that are unpacked at once: they stay in the first-level cache while they are
// multiplied.
constexpr int64_t kUnpackedBlocks = 8;
// Rows of activations that are multiplied by them: their sums stay in the second-level cache.
constexpr int64_t kRowsAtOnce = 512;

// The sums of a tile of rows and a panel.
using HalfSums = float[kHalfRows][kHalfRows];

// A panel's rows as outputs.
struct HalfOutputs {
  int64_t panel;
  __m512 scales;

  // Of n rows of activations, from `row` on.
  [[gnu::always_inline]] void store(const PanelMatmulParams& p, const HalfSums& sums, int64_t row,
                                    int64_t n) const {
    const int64_t column = panel * kHalfRows;
    const int64_t m = p.m;
    const auto mask = static_cast<__mmask16>(m - column < kHalfRows ? (1u << (m - column)) - 1u : 0xffffu);
    const __m512 bias =
        p.bias == nullptr ? _mm512_setzero_ps() : _mm512_maskz_loadu_ps(mask, p.bias + column);
    const bool has_bias = p.bias != nullptr;
    const float* x_scales = p.f16.scales + row;
    float* y = p.y + row * m + column;
    if (n == kHalfRows && mask == 0xffff && !has_bias) {
      const __m512 w_scales = scales;
#pragma GCC unroll 16
      for (int64_t r = 0; r < kHalfRows; ++r) {
        const __m512 scale = _mm512_mul_ps(w_scales, _mm512_set1_ps(x_scales[r]));
        _mm512_storeu_ps(y + r * m, _mm512_mul_ps(_mm512_load_ps(sums[r]), scale));
      }
      return;
    }
    for (int64_t r = 0; r < n; ++r) {
      const __m512 scale = _mm512_mul_ps(scales, _mm512_set1_ps(x_scales[r]));
      const __m512 sum = _mm512_mul_ps(_mm512_load_ps(sums[r]), scale);
      _mm512_mask_storeu_ps(y + r * m, mask, has_bias ? _mm512_add_ps(sum, bias) : sum);
    }
  }
};

template <class Format>
struct HalfProduct {
  using V = Avx512VnniVector;
  static constexpr int64_t kGroups = kBlock / Format::kGroup;

  static int64_t panel_bytes(int64_t k) {
    return Format::panel_bytes(k) + kHalfRows * static_cast<int64_t>(sizeof(float));
  }
  static int64_t scratch_bytes(int64_t) {
    return 2 * kUnpackedBlocks * kTileBytes + kRowsAtOnce / kHalfRows * 2 * kTileBytes;
  }

  template <void (*kPack)(const uint8_t*, int64_t, int64_t, int64_t, uint8_t*)>
  static void pack(const uint8_t* w, int64_t stride, int64_t n_rows, int64_t k, uint8_t* panel) {
    kPack(w, stride, n_rows, k, panel);
    const int64_t nb = k / kBlock;
    __m512 largest = _mm512_setzero_ps();
    for (int64_t unit = 0; unit < nb; unit += Format::kUnitBlocks) {
      typename Format::Scales scales;
      scales.load(panel, nb, unit);
      for (int64_t j = 0; j < Format::kUnitBlocks; ++j) {
        for (int i = 0; i < kGroups; ++i) {
          const __m512 code = largest_code(Format::block(panel, unit + j), i);
          __m512 most = _mm512_mul_ps(_mm512_abs_ps(scales.scale(j, i)), code);
          if constexpr (Format::kHasMin) most = _mm512_add_ps(most, _mm512_abs_ps(scales.min(j, i)));
          largest = _mm512_max_ps(largest, most);
        }
      }
    }
    // At most 2^15, and no power that a float does not have; none of rows that have no largest number.
    constexpr int kZeroOrNone = 0x01 | 0x02 | 0x04 | 0x08 | 0x80;
    const __mmask16 some = _knot_mask16(_mm512_fpclass_ps_mask(largest, kZeroOrNone));
    const __m512 power = _mm512_maskz_sub_ps(some, _mm512_getexp_ps(largest), _mm512_set1_ps(14));
    const __m512 most = _mm512_set1_ps(100);
    const __m512 bounded =
        _mm512_min_ps(_mm512_max_ps(power, _mm512_sub_ps(_mm512_setzero_ps(), most)), most);
    _mm512_storeu_ps(panel + Format::panel_bytes(k), _mm512_scalef_ps(_mm512_set1_ps(1), bounded));
  }

  static void multiply(const PanelMatmulParams& p) {
    written_for_tiles(p.f16.tiles);
    if (p.n == 0) return;
    if (p.n <= kHalfRows) return multiply_few(p);
    TileShapes shapes;
    for (int tile = 0; tile < kTileRegisters; ++tile) shapes.set(tile, kHalfRows, kTileLine);
    use_tiles(shapes);
    int64_t panel = p.panel_begin;
    for (; panel + 2 <= p.panel_end; panel += 2) multiply_many<2>(p, panel);
    if (panel < p.panel_end) multiply_many<1>(p, panel);
    _tile_release();
  }

 private:
  struct Panel {
    const uint8_t* bytes;
    __m512 factors;  // of the rows' scales, before they are rounded
    HalfOutputs y;

    Panel(const PanelMatmulParams& p, int64_t panel)
        : bytes(p.panels + panel * panel_bytes(p.k)),
          y{panel, _mm512_load_ps(bytes + Format::panel_bytes(p.k))} {
      const __mmask16 some = _mm512_cmp_ps_mask(y.scales, _mm512_setzero_ps(), _CMP_NEQ_UQ);
      factors = _mm512_maskz_div_ps(some, _mm512_set1_ps(1), y.scales);
    }
  };

  // Of each row's group i of a block, the largest magnitude.
  static __m512 largest_code(const uint8_t* block, int i) {
    constexpr int kVectors = static_cast<int>(Format::kGroup) / 4;
    __m512i largest = _mm512_setzero_si512();
#pragma GCC unroll 8
    for (int g = i * kVectors; g < (i + 1) * kVectors; ++g) {
      const __m512i code =
          _mm512_sub_epi8(Format::bytes(block, g), _mm512_set1_epi8(static_cast<char>(Format::kOffset)));
      largest = _mm512_max_epu8(largest, _mm512_abs_epi8(code));  // of -128, 128
    }
    largest = _mm512_max_epu8(largest, _mm512_srli_epi32(largest, 16));
    largest = _mm512_max_epu8(largest, _mm512_srli_epi32(largest, 8));
    return _mm512_cvtepi32_ps(_mm512_and_si512(largest, _mm512_set1_epi32(255)));
  }

  // A row's number for both elements that stand beside each other.
  static __m512h twice(__m512 numbers) {
    const __m512i index = _mm512_set_epi16(15, 15, 14, 14, 13, 13, 12, 12, 11, 11, 10, 10, 9, 9, 8, 8, 7, 7,
                                           6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0);
    const __m256i halves = _mm512_cvtps_ph(numbers, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    return _mm512_castsi512_ph(_mm512_permutexvar_epi16(index, _mm512_castsi256_si512(halves)));
  }

  // Block b of a panel, block j of its unit, as a tile.
  [[gnu::always_inline]] static void unpack(const uint8_t* panel, const typename Format::Scales& scales,
                                            int64_t b, int64_t j, __m512 factors, uint8_t* tile) {
    const uint8_t* block = Format::block(panel, b);
    // A float16 between 1024 and 2047 has its last bits where whole numbers have them.
    const __m512i low_bytes = _mm512_set1_epi16(0x00ff);
    const __m512i at_1024 = _mm512_set1_epi16(0x6400);
    const __m512h zero = _mm512_set1_ph(static_cast<_Float16>(1024 + Format::kOffset));
#pragma GCC unroll 2
    for (int i = 0; i < kGroups; ++i) {
      const __m512h scale = twice(_mm512_mul_ps(scales.scale(j, i), factors));
      __m512h min;
      if constexpr (Format::kHasMin) min = twice(_mm512_mul_ps(scales.min(j, i), factors));
      const auto store = [&](int line, __m512i number) __attribute__((always_inline)) {
        const __m512h code = _mm512_sub_ph(_mm512_castsi512_ph(number), zero);
        __m512h weight;
        if constexpr (Format::kHasMin) {
          weight = _mm512_fmadd_ph(code, scale, min);
        } else {
          weight = _mm512_mul_ph(code, scale);
        }
        _mm512_store_si512(tile + line * kTileLine, _mm512_castph_si512(weight));
      };
      constexpr int kVectors = static_cast<int>(Format::kGroup) / 4;
#pragma GCC unroll 8
      for (int g = i * kVectors; g < (i + 1) * kVectors; ++g) {
        const __m512i bytes = Format::bytes(block, g);
        store(2 * g, _mm512_ternarylogic_epi32(bytes, low_bytes, at_1024, 0xea));
        store(2 * g + 1, _mm512_or_si512(_mm512_srli_epi16(bytes, 8), at_1024));
      }
    }
  }

  // Of a tile of 16 rows, that of block b.
  static const uint16_t* x_tile(const PanelMatmulParams& p, int64_t row, int64_t b) {
    return p.f16.tiles + (row / kHalfRows * (p.k / kBlock) + b) * kTileHalves;
  }

  static constexpr int64_t kFetchAhead = 2048;  // in bytes: what memory gives meanwhile

  // A panel's tiles, one after the other, into a ring.
  struct Unpacker {
    const uint8_t* bytes;
    __m512 factors;
    uint8_t* ring;
    int64_t nb;
    int64_t to_next;  // from the panel's end to that of its stream that follows
    int64_t lines = (Format::panel_bytes(nb * kBlock) / nb + 63) / 64;
    const uint8_t* end = bytes + panel_bytes(nb * kBlock);
    int64_t b = 0;
    typename Format::Scales scales;

    [[gnu::always_inline]] void next() {
      const uint8_t* at = Format::block(bytes, b) + kFetchAhead;
      if (at >= end) at += to_next;
      for (int64_t line = 0; line < lines; ++line) __builtin_prefetch(at + line * 64, 0, 2);
      if (b % Format::kUnitBlocks == 0) scales.load(bytes, nb, b);
      uint8_t* to = ring + b % kUnpackedBlocks * kTileBytes;
      unpack(bytes, scales, b, b % Format::kUnitBlocks, factors, to);
      written_for_tiles(to);
      ++b;
    }
  };

  // Up to 16 rows: what is unpacked is multiplied soon, but not at once. Registers: sums in 0 and 1,
  // activations in 4, weights in 6 and 7.
  static void multiply_few(const PanelMatmulParams& p) {
    TileShapes shapes;
    for (const int tile : {0, 1, 4}) shapes.set(tile, p.n, kTileLine);
    for (const int tile : {6, 7}) shapes.set(tile, kHalfRows, kTileLine);
    use_tiles(shapes);
    int64_t panel = p.panel_begin;
    for (; panel + 2 <= p.panel_end; panel += 2) multiply_few_of<2>(p, panel);
    if (panel < p.panel_end) multiply_few_of<1>(p, panel);
    _tile_release();
  }

  template <int kPanels>
  static void multiply_many(const PanelMatmulParams& p, int64_t first) {
    for (int64_t row = 0; row < p.n; row += kRowsAtOnce)
      multiply_many<kPanels>(p, first, row, row + kRowsAtOnce < p.n ? row + kRowsAtOnce : p.n);
  }

  template <int kPanels>
  static void multiply_few_of(const PanelMatmulParams& p, int64_t first) {
    constexpr int64_t kAhead = 2;
    const int64_t nb = p.k / kBlock;
    const Panel panels[2] = {{p, first}, {p, first + kPanels - 1}};
    const int64_t to_next = (kPanels - 1) * panel_bytes(p.k);
    Unpacker unpackers[2] = {
        {panels[0].bytes, panels[0].factors, p.scratch, nb, to_next},
        {panels[1].bytes, panels[1].factors, p.scratch + kUnpackedBlocks * kTileBytes, nb, to_next}};
    for (int64_t b = 0; b < kAhead && b < nb; ++b) {
      for (int i = 0; i < kPanels; ++i) unpackers[i].next();
    }
    _tile_zero(0);
    _tile_zero(1);
    for (int64_t b = 0; b < nb; ++b) {
      if (b + kAhead < nb) {
#pragma GCC unroll 2
        for (int i = 0; i < kPanels; ++i) unpackers[i].next();
      }
      _tile_loadd(4, x_tile(p, 0, b), kTileLine);
      _tile_loadd(6, unpackers[0].ring + b % kUnpackedBlocks * kTileBytes, kTileLine);
      add_pair_products<PairType::kF16, 0, 4, 6>();
      if constexpr (kPanels == 2) {
        _tile_loadd(7, unpackers[1].ring + b % kUnpackedBlocks * kTileBytes, kTileLine);
        add_pair_products<PairType::kF16, 1, 4, 7>();
      }
    }
    alignas(64) HalfSums sums[2];
    _tile_stored(0, sums[0], kTileLine);
    if constexpr (kPanels == 2) _tile_stored(1, sums[1], kTileLine);
    written_for_tiles(sums);
    for (int i = 0; i < kPanels; ++i) panels[i].y.store(p, sums[i], 0, p.n);
  }

  // The bytes of what is unpacked next, of each panel; of its last blocks those of the pair that follows.
  struct Next {
    Fetch first, second;

    Next(const PanelMatmulParams& p, int64_t panel, int n_panels, int64_t block, int64_t n_tiles) {
      const int64_t nb = p.k / kBlock;
      const int64_t stride = panel_bytes(p.k);
      const uint8_t* at = p.panels + panel * stride;
      block += kUnpackedBlocks;
      if (block >= nb) {
        block = 0;
        at = panel + n_panels < p.panel_end ? at + n_panels * stride : p.next;
      }
      const int64_t n_blocks = nb - block < kUnpackedBlocks ? nb - block : kUnpackedBlocks;
      const int64_t n_lines = at == nullptr ? 0 : n_blocks * stride / nb / kTileLine + 1;
      const int64_t n_steps = n_tiles * kUnpackedBlocks;
      first = {at + block * stride / nb, (n_lines + n_steps - 1) / n_steps};
      second = {first.at + stride, first.lines};
    }
    [[gnu::always_inline]] void step() {
      first.step();
      second.step();
    }
  };

  // Rows begin .. end - 1, at most kRowsAtOnce.
  template <int kPanels>
  static void multiply_many(const PanelMatmulParams& p, int64_t first, int64_t begin, int64_t end) {
    const int64_t nb = p.k / kBlock;
    const Panel panels[2] = {{p, first}, {p, first + kPanels - 1}};
    auto* sums = reinterpret_cast<HalfSums*>(p.scratch + 2 * kUnpackedBlocks * kTileBytes);
    const bool stays = end - begin <= 2 * kHalfRows;  // in its registers
    for (int64_t block = 0; block < nb; block += kUnpackedBlocks) {
      const int64_t n_blocks = nb - block < kUnpackedBlocks ? nb - block : kUnpackedBlocks;
      for (int i = 0; i < kPanels; ++i) {
        uint8_t* tile = p.scratch + i * kUnpackedBlocks * kTileBytes;
        for (int64_t unit = block; unit < block + n_blocks; unit += Format::kUnitBlocks) {
          typename Format::Scales scales;
          scales.load(panels[i].bytes, nb, unit);
          for (int64_t j = 0; j < Format::kUnitBlocks; ++j, tile += kTileBytes)
            unpack(panels[i].bytes, scales, unit + j, j, panels[i].factors, tile);
        }
      }
      written_for_tiles(p.scratch);
      const bool is_first = block == 0;
      const bool is_last = block + n_blocks == nb;
      HalfSums* to = sums;
      int64_t row = begin;
      Next next(p, first, kPanels, block, (end - begin + 2 * kHalfRows - 1) / (2 * kHalfRows));
      for (; row + kHalfRows < end; row += 2 * kHalfRows, to += 4) {
        multiply_rows<kPanels, 2>(p, row, block, n_blocks, is_first, stays, to, next);
        if (is_last && row > begin) store_rows<kPanels>(p, panels, row - 2 * kHalfRows, end, to - 4);
        if (is_last || !stays) store_sums<kPanels, 2>(to);
      }
      if (row < end) {
        multiply_rows<kPanels, 1>(p, row, block, n_blocks, is_first, stays, to, next);
        if (is_last && row > begin) store_rows<kPanels>(p, panels, row - 2 * kHalfRows, end, to - 4);
        if (is_last || !stays) store_sums<kPanels, 1>(to);
        row += 2 * kHalfRows;
        to += 4;
      }
      if (is_last) store_rows<kPanels>(p, panels, row - 2 * kHalfRows, end, to - 4);
    }
  }

  // The outputs of two tiles of rows whose sums are there. While others are multiplied, since whoever reads
  // sums that have just left their registers waits for them.
  template <int kPanels>
  static void store_rows(const PanelMatmulParams& p, const Panel (&panels)[2], int64_t row, int64_t end,
                         const HalfSums* sums) {
    for (int t = 0; t < 2; ++t, row += kHalfRows) {
      const int64_t n = end - row < kHalfRows ? end - row : kHalfRows;
      for (int i = 0; i < kPanels; ++i) panels[i].y.store(p, sums[t * 2 + i], row, n);
    }
  }

  template <int kPanels, int kRowTiles>
  [[gnu::always_inline]] static void store_sums(HalfSums* sums) {
    _tile_stored(0, sums[0], kTileLine);
    if constexpr (kPanels == 2) _tile_stored(1, sums[1], kTileLine);
    if constexpr (kRowTiles == 2) _tile_stored(2, sums[2], kTileLine);
    if constexpr (kPanels == 2 && kRowTiles == 2) _tile_stored(3, sums[3], kTileLine);
    written_for_tiles(sums);
  }

  // What is unpacked, from number `block` on, times kRowTiles tiles of rows. Registers: sums in 0 to 3,
  // activations in 4 and 5, weights in 6 and 7.
  template <int kPanels, int kRowTiles>
  [[gnu::always_inline]] static void multiply_rows(const PanelMatmulParams& p, int64_t row, int64_t block,
                                                   int64_t n_blocks, bool is_first, bool stays,
                                                   const HalfSums* sums, Next& next) {
    const uint16_t* x0 = x_tile(p, row, block);
    const uint16_t* x1 = kRowTiles == 1 ? x0 : x_tile(p, row + kHalfRows, block);
    const uint8_t* w0 = p.scratch;
    const uint8_t* w1 = w0 + kUnpackedBlocks * kTileBytes;
    if (is_first) {
      _tile_zero(0);
      _tile_zero(1);
      _tile_zero(2);
      _tile_zero(3);
    } else if (!stays) {
      _tile_loadd(0, sums[0], kTileLine);
      if constexpr (kPanels == 2) _tile_loadd(1, sums[1], kTileLine);
      if constexpr (kRowTiles == 2) _tile_loadd(2, sums[2], kTileLine);
      if constexpr (kPanels == 2 && kRowTiles == 2) _tile_loadd(3, sums[3], kTileLine);
    }
    for (int64_t b = 0; b < n_blocks; ++b) {
      next.step();
      _tile_loadd(6, w0, kTileLine);
      _tile_loadd(4, x0, kTileLine);
      add_pair_products<PairType::kF16, 0, 4, 6>();
      if constexpr (kPanels == 2) {
        _tile_loadd(7, w1, kTileLine);
        add_pair_products<PairType::kF16, 1, 4, 7>();
      }
      if constexpr (kRowTiles == 2) {
        _tile_loadd(5, x1, kTileLine);
        add_pair_products<PairType::kF16, 2, 5, 6>();
        if constexpr (kPanels == 2) add_pair_products<PairType::kF16, 3, 5, 7>();
      }
      x0 += kTileHalves;
      x1 += kTileHalves;
      w0 += kTileBytes;
      w1 += kTileBytes;
    }
  }
};

// For a table that has the format's panels already.
template <class Format, void (*kPack)(const uint8_t*, int64_t, int64_t, int64_t,
                                      uint8_t*) = pack_blocks<Avx512VnniVector, Format>>
void set_halves(CpuKernels* table, DType dtype) {
  using Product = HalfProduct<Format>;
  table->matmul[static_cast<int>(dtype)] = {kHalfRows,
                                            XForm::kF16,
                                            Product::panel_bytes,
                                            Product::scratch_bytes,
                                            Product::template pack<kPack>,
                                            Product::multiply};
}

}  // namespace
}  // namespace inferno::kernels
