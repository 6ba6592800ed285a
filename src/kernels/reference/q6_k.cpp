#include "kernels/reference/blocks.h"
#include "tensor/half.h"

namespace inferno::kernels::reference {

void dequantize_block(const BlockQ6_K& block, float* y) {
  const float d = f16_to_f32(block.d);
  for (int g = 0; g < 16; ++g) {
    const uint8_t* ql = block.ql + g / 8 * 64 + g % 4 * 16;
    const uint8_t* qh = block.qh + g / 8 * 32 + g % 2 * 16;
    const int low_shift = g % 8 / 4 * 4;
    const int high_shift = g % 8 / 2 * 2;
    const float scale = d * static_cast<float>(block.scales[g]);
    for (int j = 0; j < 16; ++j) {
      const int low = ql[j] >> low_shift & 15;
      const int high = qh[j] >> high_shift & 3;
      y[16 * g + j] = scale * static_cast<float>((low | high << 4) - 32);
    }
  }
}

}  // namespace inferno::kernels::reference
