#include "kernels/reference/blocks.h"
#include "kernels/reference/codebook_iq4.h"
#include "tensor/half.h"

namespace inferno::kernels::reference {

void dequantize_block(const BlockIQ4_NL& block, float* y) {
  const float d = f16_to_f32(block.d);
  for (int i = 0; i < 16; ++i) {
    y[i] = d * static_cast<float>(kCodebookIQ4[block.qs[i] & 15]);
    y[i + 16] = d * static_cast<float>(kCodebookIQ4[block.qs[i] >> 4]);
  }
}

}  // namespace inferno::kernels::reference
