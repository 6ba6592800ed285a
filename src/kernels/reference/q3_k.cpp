#include "kernels/reference/blocks.h"
#include "tensor/half.h"

namespace inferno::kernels::reference {

void dequantize_block(const BlockQ3_K& block, float* y) {
  const float d = f16_to_f32(block.d);
  for (int g = 0; g < 16; ++g) {
    const int scale_low = g < 8 ? block.scales[g] & 15 : block.scales[g - 8] >> 4;
    const int scale_high = block.scales[8 + g % 4] >> (g / 4 * 2) & 3;
    const int scale = (scale_low | scale_high << 4) - 32;
    for (int i = 16 * g; i < 16 * g + 16; ++i) {
      const int low = block.qs[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3;
      const int high = block.hmask[i % 32] >> (i / 32) & 1;
      y[i] = d * static_cast<float>(scale * ((low | high << 2) - 4));
    }
  }
}

}  // namespace inferno::kernels::reference
