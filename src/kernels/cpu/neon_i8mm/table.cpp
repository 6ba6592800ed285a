// NEON with products of small matrices of bytes and of bfloat16 (Armv8.6; Neoverse V1 and N2, Apple M2): a
// 2x8 by 8x2, or a 2x4 by 4x2, in one instruction.
#include <arm_neon.h>

#include "kernels/cpu/kernels.h"
#include "kernels/cpu/neon_i8mm/functions.h"
#include "kernels/cpu/opaque.h"

namespace inferno::kernels::neon_i8mm {
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
    for (int32x4_t& sum : sums) sum = vmmlaq_s32(sum, one, one);
  }
  int32x4_t total = vdupq_n_s32(0);
  for (const int32x4_t& sum : sums) total = vaddq_s32(total, sum);
  return vaddvq_s32(total);
}

int64_t bf16_loop(int64_t rounds) {
  uint16x8_t bits = vdupq_n_u16(0x3f80);
  INFERNO_OPAQUE(bits);  // g++ 12 would make the constant a float16 one
  const bfloat16x8_t one = vreinterpretq_bf16_u16(bits);
  float32x4_t sums[kSums];
  for (float32x4_t& sum : sums) {
    sum = vdupq_n_f32(0);
    INFERNO_OPAQUE(sum);
  }
  for (int64_t i = 0; i < rounds; ++i) {
    for (float32x4_t& sum : sums) sum = vbfmmlaq_f32(sum, one, one);
  }
  float32x4_t total = vdupq_n_f32(0);
  for (const float32x4_t& sum : sums) total = vaddq_f32(total, sum);
  return static_cast<int64_t>(vaddvq_f32(total));
}

}  // namespace

CpuKernels table(CpuKernels base) {
  set_simple_quants(&base);
  set_k_quants(&base);
  base.bf16 = {kSums * 16, bf16_loop};
  base.int8 = {kSums * 32, int8_loop};
  return base;
}

}  // namespace inferno::kernels::neon_i8mm
