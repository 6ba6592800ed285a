#include "kernels/cuda/device/launch_kernel.h"

namespace inferno::kernels::cuda {
namespace {

__global__ void rope_table_kernel(RopeTableParams p) {
  const int64_t i = thread_number();
  if (i >= p.n * p.n_pairs) return;
  const double angle = p.positions[i / p.n_pairs] * p.inv_freq[i % p.n_pairs];
  p.cos_sin[2 * i] = static_cast<float>(cos(angle));
  p.cos_sin[2 * i + 1] = static_cast<float>(sin(angle));
}

// A thread for a pair of a head.
__global__ void rope_kernel(RopeParams p) {
  const int64_t i = thread_number();
  if (i >= p.n * p.n_heads * p.n_pairs) return;
  const int64_t pair = i % p.n_pairs;
  const int64_t head = i / p.n_pairs;  // over all rows
  const bool interleaved = p.style == RopeStyle::kInterleaved;
  const float* cos_sin = p.cos_sin + 2 * (head / p.n_heads * p.n_pairs + pair);
  float* a = p.x + head * p.head_dim + (interleaved ? 2 * pair : pair);
  float* b = a + (interleaved ? 1 : p.n_pairs);
  const float rotated_a = *a * cos_sin[0] - *b * cos_sin[1];
  const float rotated_b = *a * cos_sin[1] + *b * cos_sin[0];
  *a = rotated_a;
  *b = rotated_b;
}

}  // namespace

void rope_table(const RopeTableParams& p, Stream stream) {
  launch_for_each(p.n * p.n_pairs, rope_table_kernel, stream, p);
}

void rope(const RopeParams& p, Stream stream) {
  launch_for_each(p.n * p.n_heads * p.n_pairs, rope_kernel, stream, p);
}

}  // namespace inferno::kernels::cuda
