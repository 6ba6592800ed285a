#include "kernels/cuda/device/launch_kernel.h"
#include "kernels/cuda/device/reduce.h"

namespace inferno::kernels::cuda {
namespace {

constexpr int kThreads = 256;  // of a block

// An element as a number: of two elements of a row, the one that stands for both has the larger key. The
// upper half is the order of values, in which what is no number is the last; below any of them is 0.
__device__ uint64_t key_of(float value, int64_t index) {
  const uint32_t bits = __float_as_uint(value == 0.0f ? 0.0f : value);  // -0 as 0
  uint32_t rank = (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
  if (!(value < INFINITY)) rank = 0xffffffffu;
  return static_cast<uint64_t>(rank) << 32 | (0xffffffffu - static_cast<uint32_t>(index));
}

__device__ int32_t index_of(uint64_t key) {
  return static_cast<int32_t>(0xffffffffu - static_cast<uint32_t>(key));
}

__device__ uint64_t highest_in_block(uint64_t key) {
  __shared__ uint64_t scratch[kThreads / kWarpSize];
  return reduce_block<kThreads>(key, Max(), scratch);
}

struct Keys {
  uint64_t* keys;  // (n, blocks)
  int64_t blocks;
  ArgmaxParams of;
};

// All blocks of a row, each to a key.
__global__ void highest_keys_kernel(Keys p) {
  const float* x = p.of.x + blockIdx.y * p.of.dim;
  uint64_t highest = 0;
  for (int64_t i = thread_number(); i < p.of.dim; i += p.blocks * kThreads)
    highest = Max()(highest, key_of(x[i], i));
  highest = highest_in_block(highest);
  if (threadIdx.x == 0) p.keys[blockIdx.y * p.blocks + blockIdx.x] = highest;
}

// A block for a row.
__global__ void argmax_kernel(Keys p) {
  uint64_t highest = 0;
  for (int64_t i = threadIdx.x; i < p.blocks; i += kThreads)
    highest = Max()(highest, p.keys[blockIdx.x * p.blocks + i]);
  highest = highest_in_block(highest);
  if (threadIdx.x != 0) return;
  const int32_t index = index_of(highest);
  p.of.y[blockIdx.x] = {p.of.x[blockIdx.x * p.of.dim + index], index};
}

}  // namespace

void argmax(const ArgmaxParams& p, uint64_t* scratch, Stream stream) {
  if (p.n == 0) return;
  const Keys keys = {scratch, argmax_blocks(p.dim), p};
  const auto rows = static_cast<unsigned>(p.n);
  launch(highest_keys_kernel, dim3(static_cast<unsigned>(keys.blocks), rows), dim3(kThreads), stream, keys);
  launch(argmax_kernel, dim3(rows), dim3(kThreads), stream, keys);
}

}  // namespace inferno::kernels::cuda
