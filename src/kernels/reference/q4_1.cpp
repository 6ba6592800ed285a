#include "kernels/reference/blocks.h"
#include "tensor/half.h"

namespace inferno::kernels::reference {

void dequantize_block(const BlockQ4_1& block, float* y) {
  const float d = f16_to_f32(block.d);
  const float m = f16_to_f32(block.m);
  for (int i = 0; i < 16; ++i) {
    y[i] = d * static_cast<float>(block.qs[i] & 15) + m;
    y[i + 16] = d * static_cast<float>(block.qs[i] >> 4) + m;
  }
}

}  // namespace inferno::kernels::reference
