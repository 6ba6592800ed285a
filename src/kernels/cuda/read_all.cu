#include "kernels/cuda/device/launch_kernel.h"
#include "kernels/cuda/device/reduce.h"

namespace inferno::kernels::cuda {
namespace {

constexpr int64_t kLanes = kReadSums * kWarpSize;

// A warp for each sum; neighbouring lanes read neighbouring pairs of words.
__global__ void read_all_kernel(ReadAllParams p) {
  const auto* pairs = static_cast<const ulonglong2*>(p.data);
  const int64_t n_pairs = p.bytes / static_cast<int64_t>(sizeof(ulonglong2));
  const int64_t thread = thread_number();
  uint64_t sum = 0;
  for (int64_t i = thread; i < n_pairs; i += kLanes) {
    const ulonglong2 pair = pairs[i];
    sum += pair.x + pair.y;
  }
  sum = reduce_warp(sum, Sum());
  if (thread % kWarpSize == 0) p.sums[thread / kWarpSize] = sum;
}

}  // namespace

void read_all(const ReadAllParams& p, Stream stream) {
  launch_for_each(kLanes, read_all_kernel, stream, p);
}

}  // namespace inferno::kernels::cuda
