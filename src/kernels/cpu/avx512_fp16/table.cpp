// AVX-512 with arithmetic in float16 (Intel since Sapphire Rapids).
#include <immintrin.h>

#include "kernels/cpu/avx512_vnni/vector.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/loops/fill.h"
#include "kernels/cpu/loops/unpacked_float.h"
#include "kernels/cpu/opaque.h"

namespace inferno::kernels::avx512_fp16 {
namespace {

constexpr int64_t kSums = 16;

int64_t fp16_loop(int64_t rounds) {
  const __m512h one = _mm512_castsi512_ph(_mm512_set1_epi16(0x3c00));
  __m512h sums[kSums];
  for (__m512h& sum : sums) {
    sum = _mm512_setzero_ph();
    INFERNO_OPAQUE(sum);
  }
  for (int64_t i = 0; i < rounds; ++i) {
    for (__m512h& sum : sums) sum = _mm512_fmadd_ph(one, one, sum);
  }
  double total = 0;
  for (const __m512h& sum : sums) {
    const __m512i bits = _mm512_castph_si512(sum);
    const __m512 low = _mm512_cvtph_ps(_mm512_castsi512_si256(bits));
    const __m512 high = _mm512_cvtph_ps(_mm512_extracti64x4_epi64(bits, 1));
    total += static_cast<double>(_mm512_reduce_add_ps(low)) + static_cast<double>(_mm512_reduce_add_ps(high));
  }
  return static_cast<int64_t>(total);
}

}  // namespace

CpuKernels table(CpuKernels base) {
  base.fp16 = {kSums * 32, fp16_loop};
  // Those Intel processors take two operations of the multipliers' ports for a conversion.
  using Unpacked = UnpackedFloat<Avx512VnniVector, ElementF16<Avx512VnniVector>>;
  PanelMatmul& f16 = base.matmul[static_cast<int>(DType::kF16)];
  f16.scratch_bytes = Unpacked::scratch_bytes;
  f16.multiply = Unpacked::multiply;
  // By dot products of bfloat16 they compute half of what they do by multiply-adds (docs/decisions/012).
  fill_bf16_products<Avx512VnniVector>(&base);
  return base;
}

}  // namespace inferno::kernels::avx512_fp16
