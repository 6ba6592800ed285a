#include <cmath>

#include "kernels/reference/reference.h"

namespace inferno::kernels::reference {

void rope_table(const RopeTableParams& p) {
  for (int64_t r = 0; r < p.n; ++r) {
    for (int64_t i = 0; i < p.n_pairs; ++i) {
      const double angle = p.positions[r] * p.inv_freq[i];
      float* cos_sin = p.cos_sin + 2 * (r * p.n_pairs + i);
      cos_sin[0] = static_cast<float>(std::cos(angle));
      cos_sin[1] = static_cast<float>(std::sin(angle));
    }
  }
}

void rope(const RopeParams& p) {
  const bool interleaved = p.style == RopeStyle::kInterleaved;
  const int64_t pair_stride = interleaved ? 2 : 1;
  const int64_t partner = interleaved ? 1 : p.n_pairs;
  for (int64_t r = 0; r < p.n; ++r) {
    const float* cos_sin = p.cos_sin + 2 * r * p.n_pairs;
    for (int64_t h = 0; h < p.n_heads; ++h) {
      float* head = p.x + (r * p.n_heads + h) * p.head_dim;
      for (int64_t i = 0; i < p.n_pairs; ++i) {
        const float c = cos_sin[2 * i];
        const float s = cos_sin[2 * i + 1];
        float& a = head[i * pair_stride];
        float& b = head[i * pair_stride + partner];
        const float rotated = a * c - b * s;
        b = a * s + b * c;
        a = rotated;
      }
    }
  }
}

}  // namespace inferno::kernels::reference
