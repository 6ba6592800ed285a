#include "kernels/reference/blocks.h"
#include "tensor/half.h"

namespace inferno::kernels::reference {

void dequantize_block(const BlockQ3_K& block, float* y) {
  const float d = f16_to_f32(block.d);
  for (int g = 0; g < 16; ++g) {
    const int scale_low = g < 8 ? block.scales[g] & 15 : block.scales[g - 8] >> 4;
    const int scale_high = block.scales[8 + g % 4] >> (g / 4 * 2) & 3;
    const float scale = d * static_cast<float>((scale_low | scale_high << 4) - 32);
    const uint8_t* qs = block.qs + g / 8 * 32 + g % 2 * 16;
    const uint8_t* hmask = block.hmask + g % 2 * 16;
    const int shift = g % 8 / 2 * 2;
    for (int j = 0; j < 16; ++j) {
      const int low = qs[j] >> shift & 3;
      const int high = hmask[j] >> (g / 2) & 1;
      y[16 * g + j] = scale * static_cast<float>((low | high << 2) - 4);
    }
  }
}

}  // namespace inferno::kernels::reference
