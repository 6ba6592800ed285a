// Products of bfloat16 weights. Activations are sums of three bfloat16, so that all products are exact, and
// an output is as near to the definition as one made of fused multiply-adds. (Float16 weights, as two
// bfloat16 each: prompts were 1.3 times as fast so, but decoding 0.7 times.)
#include "kernels/cpu/amx/functions.h"
#include "kernels/cpu/amx/packed_tiles.h"
#include "kernels/cpu/amx/sixteen_bit_products.h"

namespace inferno::kernels::amx {
namespace {

constexpr int64_t kTileNumbers = kSplitRows * kSplitCols;

// The upper half of a float's bits is a bfloat16, what is left has 16 bits of mantissa less eight, and so on:
// nothing is lost after the third. An infinity has no rest.
void split_block(const float* x, int64_t n, uint16_t* tile) {
  constexpr int kInfinity = 0x08 | 0x10;
  const __m512i upper = _mm512_set1_epi32(static_cast<int>(0xffff0000));
  for (int64_t i = 0; i < kSplitCols; i += 16) {
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

void split(const SplitParams& p) {
  const int64_t blocks = (p.k + kSplitCols - 1) / kSplitCols;
  for (int64_t r = 0; r < p.n_rows; ++r) {
    const int64_t row = p.row + r;
    const float* x = p.x + r * p.k;
    for (int64_t j = 0; j < p.n_cols; j += kSplitCols) {
      const int64_t tile_number = row / kSplitRows * blocks + (p.col + j) / kSplitCols;
      uint16_t* tile = p.tiles + tile_number * kSplitParts * kTileNumbers;
      split_block(x + j, p.n_cols - j, tile + row % kSplitRows * kSplitCols);
    }
  }
}

struct Bf16 {
  static constexpr int64_t kParts = kSplitParts;
  static const uint16_t* tiles(const PanelMatmulParams& p) { return p.split; }
  static constexpr PairType kType = PairType::kBf16;
  static __m512 scaled(const PanelMatmulParams&, int64_t, __m512 sums) { return sums; }
};

}  // namespace

void set_bf16_products(CpuKernels* table) {
  using Product = SixteenBitProduct<Bf16>;
  table->split = split;
  using Packed = SixteenBitProduct<Bf16, PackedPanels>;
  // Panels as vectors have them.
  table->compressed[static_cast<int>(DType::kBF16)].product = {
      Packed::kRows,         XForm::kBf16Parts, Packed::panel_bytes,
      Packed::scratch_bytes, nullptr,           Packed::multiply};
  table->matmul[static_cast<int>(DType::kBF16)] = {Product::kRows,       XForm::kBf16Parts,
                                                   Product::panel_bytes, Product::scratch_bytes,
                                                   Product::pack,        Product::multiply};
}

}  // namespace inferno::kernels::amx
