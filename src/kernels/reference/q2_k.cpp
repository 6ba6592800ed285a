#include "kernels/reference/blocks.h"
#include "tensor/half.h"

namespace inferno::kernels::reference {

void dequantize_block(const BlockQ2_K& block, float* y) {
  const float d = f16_to_f32(block.d);
  const float dmin = f16_to_f32(block.dmin);
  for (int g = 0; g < 16; ++g) {
    const uint8_t* qs = block.qs + g / 8 * 32 + g % 2 * 16;
    const int shift = g % 8 / 2 * 2;
    const float scale = d * static_cast<float>(block.scales[g] & 15);
    const float min = dmin * static_cast<float>(block.scales[g] >> 4);
    for (int j = 0; j < 16; ++j) y[16 * g + j] = scale * static_cast<float>(qs[j] >> shift & 3) - min;
  }
}

}  // namespace inferno::kernels::reference
