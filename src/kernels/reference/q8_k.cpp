#include "kernels/reference/blocks.h"

namespace inferno::kernels::reference {

void dequantize_block(const BlockQ8_K& block, float* y) {
  for (int i = 0; i < kSuperBlock; ++i) y[i] = block.d * static_cast<float>(block.qs[i]);
}

}  // namespace inferno::kernels::reference
