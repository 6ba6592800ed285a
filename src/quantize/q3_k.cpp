#include "quantize/blocks.h"
#include "quantize/pack_k.h"
#include "quantize/super_block.h"

namespace inferno::quantize {

void quantize_block(const float* x, BlockQ3_K& block) {
  using Codes = IntegerCodes<-4, 3>;
  const auto fit = ScaledGroupsFit<16, Codes, -32, 31>(x).run();
  block = {};
  block.d = f32_to_f16(fit.d);
  std::array<uint8_t, kSuperBlock> codes;
  for (int g = 0; g < 16; ++g) {
    const int scale = fit.scale[g] + 32;
    block.scales[g % 8] |= static_cast<uint8_t>((scale & 15) << (g / 8 * 4));
    block.scales[8 + g % 4] |= static_cast<uint8_t>(scale >> 4 << (g / 4 * 2));
    encode<16, Codes>(x + 16 * g, fit.d * static_cast<float>(fit.scale[g]), 0, codes.data() + 16 * g);
  }
  pack_pairs(codes.data(), 0, block.qs);
  for (int i = 0; i < kSuperBlock; ++i) {
    block.hmask[i % 32] |= static_cast<uint8_t>((codes[i] >> 2 & 1) << (i / 32));
  }
}

}  // namespace inferno::quantize
