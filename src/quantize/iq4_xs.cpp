#include "quantize/blocks.h"
#include "quantize/super_block.h"

namespace inferno::quantize {

void quantize_block(const float* x, BlockIQ4_XS& block) {
  const auto fit = ScaledGroupsFit<8, CodebookIQ4, -32, 31>(x).run();
  block = {};
  block.d = f32_to_f16(fit.d);
  for (int g = 0; g < 8; ++g) {
    const int scale = fit.scale[g] + 32;
    block.scales_l[g / 2] |= static_cast<uint8_t>((scale & 15) << (g % 2 * 4));
    block.scales_h |= static_cast<uint16_t>(scale >> 4 << (2 * g));
    std::array<uint8_t, 32> codes;
    encode<32, CodebookIQ4>(x + 32 * g, fit.d * static_cast<float>(fit.scale[g]), 0, codes.data());
    pack_nibbles(codes.data(), block.qs + 16 * g);
  }
}

}  // namespace inferno::quantize
