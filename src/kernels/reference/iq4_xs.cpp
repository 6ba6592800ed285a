#include "kernels/reference/blocks.h"
#include "kernels/reference/codebook_iq4.h"
#include "tensor/half.h"

namespace inferno::kernels::reference {

void dequantize_block(const BlockIQ4_XS& block, float* y) {
  const float d = f16_to_f32(block.d);
  for (int g = 0; g < 8; ++g) {
    const int scale_low = block.scales_l[g / 2] >> (g % 2 * 4) & 15;
    const int scale_high = block.scales_h >> (2 * g) & 3;
    const float scale = d * static_cast<float>((scale_low | scale_high << 4) - 32);
    for (int i = 0; i < 16; ++i) {
      y[32 * g + i] = scale * static_cast<float>(kCodebookIQ4[block.qs[16 * g + i] & 15]);
      y[32 * g + i + 16] = scale * static_cast<float>(kCodebookIQ4[block.qs[16 * g + i] >> 4]);
    }
  }
}

}  // namespace inferno::kernels::reference
