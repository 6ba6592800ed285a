#include <cmath>

#include "kernels/reference/reference.h"

namespace inferno::kernels::reference {

void rms_norm(const RmsNormParams& p) {
  for (int64_t r = 0; r < p.n; ++r) {
    const float* x = p.x + r * p.dim;
    float* y = p.y + r * p.dim;
    float sum = 0.0f;
    for (int64_t i = 0; i < p.dim; ++i) sum += x[i] * x[i];
    const float scale = 1.0f / std::sqrt(sum / static_cast<float>(p.dim) + p.eps);
    for (int64_t i = 0; i < p.dim; ++i) y[i] = x[i] * scale * p.w[i];
  }
}

}  // namespace inferno::kernels::reference
