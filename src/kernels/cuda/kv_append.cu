#include "kernels/cuda/device/cache_store.h"
#include "kernels/cuda/device/launch_kernel.h"

namespace inferno::kernels::cuda {
namespace {

constexpr int kWarps = 4;  // of a block

// A warp for 32 elements of a head of a row: of k where blockIdx.y is 0, else of v.
template <class Format>
__global__ void kv_append_kernel(KvAppendParams p) {
  const KvLayerView& kv = p.kv;
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  const int64_t warp = static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.x / kWarpSize;
  const int64_t runs = blocks_for(kv.head_dim, kWarpSize);
  const int64_t head = warp / runs % kv.n_kv_heads;
  const int64_t row = warp / runs / kv.n_kv_heads;
  if (row >= p.n) return;
  const float* x = (blockIdx.y == 0 ? p.k : p.v) + (row * kv.n_kv_heads + head) * kv.head_dim;
  store_head_run<Format>(x, warp % runs, kv, blockIdx.y == 0 ? kv.k : kv.v, p.slot_mapping[row], head, lane);
}

}  // namespace

void kv_append(const KvAppendParams& p, Stream stream) {
  const int64_t warps = p.n * p.kv.n_kv_heads * blocks_for(p.kv.head_dim, kWarpSize);
  if (warps == 0) return;
  const dim3 grid(static_cast<unsigned>(blocks_for(warps, kWarps)), 2);
  with_cache_format(p.kv.dtype, [&](auto format) {
    launch(kv_append_kernel<decltype(format)>, grid, dim3(kWarps * kWarpSize), stream, p);
  });
}

}  // namespace inferno::kernels::cuda
