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
  double total = 0;
  for (const float32x4_t& sum : sums) total += static_cast<double>(vaddvq_f32(sum));
  return static_cast<int64_t>(total);
}

}  // namespace inferno::kernels::neon
