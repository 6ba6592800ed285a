#include "quantize/blocks.h"
#include "quantize/pack_k.h"
#include "quantize/super_block.h"

namespace inferno::quantize {

void quantize_block(const float* x, BlockQ5_K& block) {
  const auto fit = AffineGroupsFit<8, 31, 63>(x).run();
  block.d = f32_to_f16(fit.d);
  block.dmin = f32_to_f16(fit.dmin);
  pack_scales_and_mins(fit, block.scales);
  const auto codes = encode_groups<31>(x, fit);
  pack_nibbles_k(codes.data(), block.qs);
  for (int j = 0; j < 32; ++j) {
    block.qh[j] = 0;
    for (int g = 0; g < 8; ++g) block.qh[j] |= static_cast<uint8_t>((codes[32 * g + j] >> 4 & 1) << g);
  }
}

}  // namespace inferno::quantize
