// Products of float16 weights. Activations are sums of two float16, times a power of two: see F16Rows for the
// little that is lost of them.
#include "kernels/cpu/amx/sixteen_bit_products.h"
#include "kernels/cpu/amx_fp16/functions.h"

namespace inferno::kernels::amx_fp16 {
namespace {

struct F16 {
  static constexpr int64_t kParts = kF16Parts;
  static const uint16_t* tiles(const PanelMatmulParams& p) { return p.f16.tiles; }
  static constexpr PairType kType = PairType::kF16;
  static __m512 scaled(const PanelMatmulParams& p, int64_t row, __m512 sums) {
    return _mm512_mul_ps(sums, _mm512_set1_ps(p.f16.scales[row]));
  }
};

}  // namespace

void set_f16_products(CpuKernels* table) {
  using Product = SixteenBitProduct<F16>;
  table->matmul[static_cast<int>(DType::kF16)] = {Product::kRows,       XForm::kF16Parts,
                                                  Product::panel_bytes, Product::scratch_bytes,
                                                  Product::pack,        Product::multiply};
}

}  // namespace inferno::kernels::amx_fp16
