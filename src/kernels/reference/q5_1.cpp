#include "kernels/reference/blocks.h"
#include "tensor/half.h"

namespace inferno::kernels::reference {

void dequantize_block(const BlockQ5_1& block, float* y) {
  const float d = f16_to_f32(block.d);
  const float m = f16_to_f32(block.m);
  for (int i = 0; i < 32; ++i) {
    const int low = i < 16 ? block.qs[i] & 15 : block.qs[i - 16] >> 4;
    const int high = block.qh[i / 8] >> (i % 8) & 1;
    y[i] = d * static_cast<float>(low | high << 4) + m;
  }
}

}  // namespace inferno::kernels::reference
