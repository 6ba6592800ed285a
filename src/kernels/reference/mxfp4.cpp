#include "kernels/reference/blocks.h"
#include "tensor/half.h"

namespace inferno::kernels::reference {

namespace {

// OCP e2m1: sign, two bits of exponent, one of mantissa.
constexpr float kE2M1[16] = {0.0f,  0.5f,  1.0f,  1.5f,  2.0f,  3.0f,  4.0f,  6.0f,
                             -0.0f, -0.5f, -1.0f, -1.5f, -2.0f, -3.0f, -4.0f, -6.0f};

}  // namespace

void dequantize_block(const BlockMXFP4& block, float* y) {
  const float scale = e8m0_to_f32(block.e);
  for (int i = 0; i < 16; ++i) {
    y[i] = scale * kE2M1[block.qs[i] & 15];
    y[i + 16] = scale * kE2M1[block.qs[i] >> 4];
  }
}

}  // namespace inferno::kernels::reference
