// One overload per block struct, each in the file of its format: the block that says its elements best, in
// plain squared error of what kernels/reference reads back. Q8_0 alone is not searched: its largest value
// becomes 127, as everywhere. x are finite.
#pragma once

#include "tensor/quant_blocks.h"

namespace inferno::quantize {

void quantize_block(const float* x, BlockQ4_0& block);
void quantize_block(const float* x, BlockQ4_1& block);
void quantize_block(const float* x, BlockQ5_0& block);
void quantize_block(const float* x, BlockQ5_1& block);
void quantize_block(const float* x, BlockQ8_0& block);
void quantize_block(const float* x, BlockQ2_K& block);
void quantize_block(const float* x, BlockQ3_K& block);
void quantize_block(const float* x, BlockQ4_K& block);
void quantize_block(const float* x, BlockQ5_K& block);
void quantize_block(const float* x, BlockQ6_K& block);
void quantize_block(const float* x, BlockIQ4_NL& block);
void quantize_block(const float* x, BlockIQ4_XS& block);
void quantize_block(const float* x, BlockMXFP4& block);

}  // namespace inferno::quantize
