#include "quantize/blocks.h"
#include "quantize/pack_k.h"
#include "quantize/super_block.h"

namespace inferno::quantize {

void quantize_block(const float* x, BlockQ4_K& block) {
  const auto fit = AffineGroupsFit<8, 15, 63>(x).run();
  block.d = f32_to_f16(fit.d);
  block.dmin = f32_to_f16(fit.dmin);
  pack_scales_and_mins(fit, block.scales);
  pack_nibbles_k(encode_groups<15>(x, fit).data(), block.qs);
}

}  // namespace inferno::quantize
