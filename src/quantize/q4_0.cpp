#include "quantize/block.h"
#include "quantize/blocks.h"

namespace inferno::quantize {

void quantize_block(const float* x, BlockQ4_0& block) {
  const ScaledBlock fit = fit_scaled_block<IntegerCodes<-8, 7>>(x);
  block.d = fit.d;
  pack_nibbles(fit.codes.data(), block.qs);
}

}  // namespace inferno::quantize
