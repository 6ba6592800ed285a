#include "kernels/reference/blocks.h"
#include "tensor/half.h"

namespace inferno::kernels::reference {

void dequantize_block(const BlockQ2_K& block, float* y) {
  const float d = f16_to_f32(block.d);
  const float dmin = f16_to_f32(block.dmin);
  for (int i = 0; i < kSuperBlock; ++i) {
    const int q = block.qs[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3;
    const int scales = block.scales[i / 16];
    y[i] = d * static_cast<float>((scales & 15) * q) - dmin * static_cast<float>(scales >> 4);
  }
}

}  // namespace inferno::kernels::reference
