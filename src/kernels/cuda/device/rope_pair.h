// One pair of a head, turned.
#pragma once

#include <cuda_runtime.h>

#include "kernels/params.h"

namespace inferno::kernels::cuda {

// cos_sin: of the row, (n_pairs, 2).
__device__ inline void rotate_pair(float* head, int64_t pair, int64_t n_pairs, const float* cos_sin,
                                   RopeStyle style) {
  const bool interleaved = style == RopeStyle::kInterleaved;
  float* a = head + (interleaved ? 2 * pair : pair);
  float* b = a + (interleaved ? 1 : n_pairs);
  const float cosine = cos_sin[2 * pair];
  const float sine = cos_sin[2 * pair + 1];
  const float rotated_a = *a * cosine - *b * sine;
  const float rotated_b = *a * sine + *b * cosine;
  *a = rotated_a;
  *b = rotated_b;
}

}  // namespace inferno::kernels::cuda
