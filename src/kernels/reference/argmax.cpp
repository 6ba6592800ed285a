#include <limits>

#include "kernels/reference/reference.h"

namespace inferno::kernels::reference {
namespace {

Argmax argmax_of(const float* x, int64_t dim) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  Argmax highest = {x[0], 0};
  for (int64_t i = 0; i < dim; ++i) {
    const bool is_number = x[i] < kInfinity;
    if (x[i] > highest.value || !is_number) highest = {x[i], static_cast<int32_t>(i)};
    if (!is_number) break;
  }
  return highest;
}

}  // namespace

void argmax(const ArgmaxParams& p) {
  for (int64_t r = 0; r < p.n; ++r) p.y[r] = argmax_of(p.x + r * p.dim, p.dim);
}

}  // namespace inferno::kernels::reference
