#include "kernels/reference/blocks.h"
#include "tensor/half.h"

namespace inferno::kernels::reference {

void dequantize_block(const BlockQ6_K& block, float* y) {
  const float d = f16_to_f32(block.d);
  for (int i = 0; i < kSuperBlock; ++i) {
    const int half = i / 128;
    const int low = block.ql[64 * half + i % 64] >> (i % 128 / 64 * 4) & 15;
    const int high = block.qh[32 * half + i % 32] >> (i % 128 / 32 * 2) & 3;
    y[i] = d * static_cast<float>(block.scales[i / 16] * ((low | high << 4) - 32));
  }
}

}  // namespace inferno::kernels::reference
