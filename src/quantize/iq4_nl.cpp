#include "quantize/block.h"
#include "quantize/blocks.h"

namespace inferno::quantize {

void quantize_block(const float* x, BlockIQ4_NL& block) {
  const ScaledBlock fit = fit_scaled_block<CodebookIQ4>(x);
  block.d = fit.d;
  pack_nibbles(fit.codes.data(), block.qs);
}

}  // namespace inferno::quantize
