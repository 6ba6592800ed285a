#include "quantize/blocks.h"
#include "quantize/pack_k.h"
#include "quantize/super_block.h"

namespace inferno::quantize {

void quantize_block(const float* x, BlockQ2_K& block) {
  const auto fit = AffineGroupsFit<16, 3, 15>(x).run();
  block.d = f32_to_f16(fit.d);
  block.dmin = f32_to_f16(fit.dmin);
  for (int g = 0; g < 16; ++g) block.scales[g] = static_cast<uint8_t>(fit.scale[g] | fit.min[g] << 4);
  pack_pairs(encode_groups<3>(x, fit).data(), 0, block.qs);
}

}  // namespace inferno::quantize
