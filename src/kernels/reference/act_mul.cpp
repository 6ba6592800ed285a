#include <cmath>

#include "kernels/reference/reference.h"

namespace inferno::kernels::reference {
namespace {

float silu(float x) {
  return x / (1.0f + std::exp(-x));
}

float gelu_tanh(float x) {
  constexpr float kSqrtTwoOverPi = 0.79788456080286536f;
  return 0.5f * x * (1.0f + std::tanh(kSqrtTwoOverPi * (x + 0.044715f * x * x * x)));
}

}  // namespace

void act_mul(const ActMulParams& p) {
  switch (p.activation) {
    case Activation::kSilu:
      for (int64_t i = 0; i < p.n; ++i) p.y[i] = silu(p.gate[i]) * p.up[i];
      break;
    case Activation::kGeluTanh:
      for (int64_t i = 0; i < p.n; ++i) p.y[i] = gelu_tanh(p.gate[i]) * p.up[i];
      break;
  }
}

}  // namespace inferno::kernels::reference
