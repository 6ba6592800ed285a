#include "kernels/reference/blocks.h"
#include "tensor/half.h"

namespace inferno::kernels::reference {

void dequantize_block(const BlockQ8_0& block, float* y) {
  const float d = f16_to_f32(block.d);
  for (int i = 0; i < kBlock32; ++i) y[i] = d * static_cast<float>(block.qs[i]);
}

}  // namespace inferno::kernels::reference
