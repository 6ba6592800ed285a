#include "kernels/cuda/device/launch_kernel.h"
#include "kernels/cuda/device/rope_pair.h"

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
  const int64_t head = i / p.n_pairs;  // over all rows
  rotate_pair(p.x + head * p.head_dim, i % p.n_pairs, p.n_pairs,
              p.cos_sin + 2 * (head / p.n_heads) * p.n_pairs, p.style);
}

}  // namespace

void rope_table(const RopeTableParams& p, Stream stream) {
  launch_for_each(p.n * p.n_pairs, rope_table_kernel, stream, p);
}

void rope(const RopeParams& p, Stream stream) {
  launch_for_each(p.n * p.n_heads * p.n_pairs, rope_kernel, stream, p);
}

}  // namespace inferno::kernels::cuda
