#include <arm_neon.h>

#include "kernels/cpu/neon/functions.h"
#include "kernels/cpu/opaque.h"

namespace inferno::kernels::neon {

int64_t fp32_loop(int64_t rounds) {
  const float32x4_t one = vdupq_n_f32(1);
  float32x4_t sums[kSums];
  for (float32x4_t& sum : sums) {
    sum = vdupq_n_f32(0);
    INFERNO_OPAQUE(sum);
  }
  for (int64_t i = 0; i < rounds; ++i) {
    for (float32x4_t& sum : sums) sum = vfmaq_f32(sum, one, one);
  }
  float32x4_t total = vdupq_n_f32(0);
  for (const float32x4_t& sum : sums) total = vaddq_f32(total, sum);
  return static_cast<int64_t>(vaddvq_f32(total));
}

}  // namespace inferno::kernels::neon
