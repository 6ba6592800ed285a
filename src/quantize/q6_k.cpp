#include "quantize/blocks.h"
#include "quantize/pack_k.h"
#include "quantize/super_block.h"

namespace inferno::quantize {

void quantize_block(const float* x, BlockQ6_K& block) {
  using Codes = IntegerCodes<-32, 31>;
  const auto fit = ScaledGroupsFit<16, Codes, -128, 127>(x).run();
  block.d = f32_to_f16(fit.d);
  std::array<uint8_t, kSuperBlock> codes;
  for (int g = 0; g < 16; ++g) {
    block.scales[g] = static_cast<int8_t>(fit.scale[g]);
    encode<16, Codes>(x + 16 * g, fit.d * static_cast<float>(fit.scale[g]), 0, codes.data() + 16 * g);
  }
  for (int i = 0; i < 128; ++i) {
    const uint8_t* low = codes.data() + i / 64 * 128 + i % 64;
    block.ql[i] = static_cast<uint8_t>((low[0] & 15) | (low[64] & 15) << 4);
  }
  pack_pairs(codes.data(), 4, block.qh);
}

}  // namespace inferno::quantize
