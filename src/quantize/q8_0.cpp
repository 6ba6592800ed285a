#include "quantize/block.h"
#include "quantize/blocks.h"

namespace inferno::quantize {

void quantize_block(const float* x, BlockQ8_0& block) {
  float largest = 0;
  for (int i = 0; i < kBlock32; ++i) largest = std::max(largest, std::fabs(x[i]));
  const float scale = largest / 127;
  block.d = f32_to_f16(scale);
  const float inverse = block.d == 0 ? 0 : 1 / scale;
  // By the scale before it was rounded, and halves away from zero: the bits that every tool writes.
  for (int i = 0; i < kBlock32; ++i) block.qs[i] = static_cast<int8_t>(std::round(x[i] * inverse));
}

}  // namespace inferno::quantize
