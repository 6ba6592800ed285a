#include "kernels/cuda/device/cache_store.h"
#include "kernels/cuda/device/launch_kernel.h"
#include "kernels/cuda/device/rms.h"
#include "kernels/cuda/device/rope_pair.h"

namespace inferno::kernels::cuda {
namespace {

// Norm, where there is one, and rotation of a head, by a block.
__device__ void norm_and_rotate(float* head, const float* norm, const float* cos_sin,
                                const FinishHeadsParams& p) {
  if (norm != nullptr) {
    const float scale = rms_scale(head, p.kv.head_dim, p.eps);
    for (int64_t i = threadIdx.x; i < p.kv.head_dim; i += kNormThreads) head[i] = head[i] * scale * norm[i];
    __syncthreads();  // a pair is two threads' work
  }
  for (int64_t pair = threadIdx.x; pair < p.n_pairs; pair += kNormThreads)
    rotate_pair(head, pair, p.n_pairs, cos_sin, p.style);
  __syncthreads();
}

template <class Format>
__device__ void append(const float* head, void* cache, int64_t slot, int64_t kv_head, const KvLayerView& kv) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  for (int64_t run = threadIdx.x / kWarpSize; run < blocks_for(kv.head_dim, kWarpSize);
       run += kNormThreads / kWarpSize) {
    store_head_run<Format>(head, run, kv, cache, slot, kv_head, lane);
  }
}

// A block for a head of a row: of each row its query heads, then its key heads, then its value heads.
template <class Format>
__global__ void finish_heads_kernel(FinishHeadsParams p) {
  const KvLayerView& kv = p.kv;
  const int64_t heads = p.n_heads + 2 * kv.n_kv_heads;
  const int64_t row = blockIdx.x / heads;
  const float* cos_sin = p.cos_sin + 2 * row * p.n_pairs;
  int64_t head = blockIdx.x % heads;
  if (head < p.n_heads)
    return norm_and_rotate(p.q + row * p.q_stride + head * kv.head_dim, p.q_norm, cos_sin, p);
  head -= p.n_heads;
  if (head < kv.n_kv_heads) {
    float* key = p.k + row * p.k_stride + head * kv.head_dim;
    norm_and_rotate(key, p.k_norm, cos_sin, p);
    return append<Format>(key, kv.k, p.slot_mapping[row], head, kv);
  }
  head -= kv.n_kv_heads;
  append<Format>(p.v + row * p.v_stride + head * kv.head_dim, kv.v, p.slot_mapping[row], head, kv);
}

}  // namespace

void finish_heads(const FinishHeadsParams& p, Stream stream) {
  if (p.n == 0) return;
  const dim3 grid(static_cast<unsigned>(p.n * (p.n_heads + 2 * p.kv.n_kv_heads)));
  with_cache_format(p.kv.dtype, [&](auto format) {
    launch(finish_heads_kernel<decltype(format)>, grid, dim3(kNormThreads), stream, p);
  });
}

}  // namespace inferno::kernels::cuda
