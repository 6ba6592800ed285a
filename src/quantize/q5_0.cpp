#include "quantize/block.h"
#include "quantize/blocks.h"

namespace inferno::quantize {

void quantize_block(const float* x, BlockQ5_0& block) {
  const ScaledBlock fit = fit_scaled_block<IntegerCodes<-16, 15>>(x);
  block.d = fit.d;
  pack_fifth_bits(fit.codes.data(), block.qh);
  pack_nibbles(fit.codes.data(), block.qs);
}

}  // namespace inferno::quantize
