// NEON with dot products of bytes and arithmetic in float16 (Armv8.2; Neoverse N1, Apple M1).
#include <arm_neon.h>

#include "kernels/cpu/kernels.h"
#include "kernels/cpu/neon_dotprod/functions.h"
#include "kernels/cpu/opaque.h"

namespace inferno::kernels::neon_dotprod {
namespace {

constexpr int64_t kSums = 24;

int64_t int8_loop(int64_t rounds) {
  const int8x16_t one = vdupq_n_s8(1);
  int32x4_t sums[kSums];
  for (int32x4_t& sum : sums) {
    sum = vdupq_n_s32(0);
    INFERNO_OPAQUE(sum);
  }
  for (int64_t i = 0; i < rounds; ++i) {
    for (int32x4_t& sum : sums) sum = vdotq_s32(sum, one, one);
  }
  int32x4_t total = vdupq_n_s32(0);
  for (const int32x4_t& sum : sums) total = vaddq_s32(total, sum);
  return vaddvq_s32(total);
}

int64_t fp16_loop(int64_t rounds) {
  const float16x8_t one = vreinterpretq_f16_u16(vdupq_n_u16(0x3c00));
  float16x8_t sums[kSums];
  for (float16x8_t& sum : sums) {
    sum = vreinterpretq_f16_u16(vdupq_n_u16(0));
    INFERNO_OPAQUE(sum);
  }
  for (int64_t i = 0; i < rounds; ++i) {
    for (float16x8_t& sum : sums) sum = vfmaq_f16(sum, one, one);
  }
  double total = 0;
  for (const float16x8_t& sum : sums) {
    total += static_cast<double>(vaddvq_f32(vcvt_f32_f16(vget_low_f16(sum))));
    total += static_cast<double>(vaddvq_f32(vcvt_f32_f16(vget_high_f16(sum))));
  }
  return static_cast<int64_t>(total);
}

}  // namespace

CpuKernels table(CpuKernels base) {
  set_simple_quants(&base);
  set_k_quants(&base);
  base.fp16 = {kSums * 8, fp16_loop};
  base.int8 = {kSums * 16, int8_loop};
  return base;
}

}  // namespace inferno::kernels::neon_dotprod
