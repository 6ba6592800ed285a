#include "kernels/reference/blocks.h"
#include "tensor/half.h"

namespace inferno::kernels::reference {

void dequantize_block(const BlockQ4_0& block, float* y) {
  const float d = f16_to_f32(block.d);
  for (int i = 0; i < 16; ++i) {
    y[i] = d * static_cast<float>((block.qs[i] & 15) - 8);
    y[i + 16] = d * static_cast<float>((block.qs[i] >> 4) - 8);
  }
}

}  // namespace inferno::kernels::reference
