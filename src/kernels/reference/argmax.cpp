#include <cmath>
#include <limits>

#include "kernels/reference/reference.h"

namespace inferno::kernels::reference {
namespace {

constexpr int64_t kNotANumber = -1;

int64_t index_of_max(const float* x, int64_t n) {
  int64_t best = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (std::isnan(x[i])) return kNotANumber;
    if (x[i] > x[best]) best = i;
  }
  return best;
}

// softmax(x)[best]: exp in float, their sum in double.
float probability_of(const float* x, int64_t n, int64_t best) {
  if (std::isinf(x[best])) return std::numeric_limits<float>::quiet_NaN();
  double sum = 0.0;
  for (int64_t i = 0; i < n; ++i) sum += std::exp(x[i] - x[best]);
  return static_cast<float>(1.0 / sum);
}

}  // namespace

void argmax(const ArgmaxParams& p) {
  for (int64_t r = 0; r < p.n; ++r) {
    const float* x = p.x + r * p.dim;
    const int64_t best = index_of_max(x, p.dim);
    p.index[r] = static_cast<int32_t>(best);
    p.probability[r] =
        best == kNotANumber ? std::numeric_limits<float>::quiet_NaN() : probability_of(x, p.dim, best);
  }
}

}  // namespace inferno::kernels::reference
