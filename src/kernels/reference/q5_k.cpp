#include "kernels/reference/blocks.h"
#include "kernels/reference/scales_k.h"
#include "tensor/half.h"

namespace inferno::kernels::reference {

void dequantize_block(const BlockQ5_K& block, float* y) {
  const float d = f16_to_f32(block.d);
  const float dmin = f16_to_f32(block.dmin);
  for (int g = 0; g < 8; ++g) {
    const ScaleAndMin s = unpack_scale_and_min(block.scales, g);
    const float scale = d * static_cast<float>(s.scale);
    const float min = dmin * static_cast<float>(s.min);
    for (int j = 0; j < 32; ++j) {
      const int low = block.qs[g / 2 * 32 + j] >> (g % 2 * 4) & 15;
      const int high = block.qh[j] >> g & 1;
      y[32 * g + j] = scale * static_cast<float>(low | high << 4) - min;
    }
  }
}

}  // namespace inferno::kernels::reference
