// One overload per block struct, each in the file of its format: the element values of one block, in order.
#pragma once

#include "tensor/quant_blocks.h"

namespace inferno::kernels::reference {

void dequantize_block(const BlockQ4_0& block, float* y);
void dequantize_block(const BlockQ4_1& block, float* y);
void dequantize_block(const BlockQ5_0& block, float* y);
void dequantize_block(const BlockQ5_1& block, float* y);
void dequantize_block(const BlockQ8_0& block, float* y);
void dequantize_block(const BlockQ2_K& block, float* y);
void dequantize_block(const BlockQ3_K& block, float* y);
void dequantize_block(const BlockQ4_K& block, float* y);
void dequantize_block(const BlockQ5_K& block, float* y);
void dequantize_block(const BlockQ6_K& block, float* y);
void dequantize_block(const BlockQ8_K& block, float* y);
void dequantize_block(const BlockIQ4_NL& block, float* y);
void dequantize_block(const BlockIQ4_XS& block, float* y);
void dequantize_block(const BlockMXFP4& block, float* y);

}  // namespace inferno::kernels::reference
