#include "quantize/block.h"
#include "quantize/blocks.h"

namespace inferno::quantize {

void quantize_block(const float* x, BlockQ4_1& block) {
  const AffineBlock fit = fit_affine_block<15>(x);
  block.d = fit.d;
  block.m = fit.m;
  pack_nibbles(fit.codes.data(), block.qs);
}

}  // namespace inferno::quantize
