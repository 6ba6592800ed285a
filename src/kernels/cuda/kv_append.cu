#include "kernels/cuda/device/formats.h"
#include "kernels/cuda/device/launch_kernel.h"
#include "kernels/cuda/device/reduce.h"

namespace inferno::kernels::cuda {
namespace {

constexpr int kWarps = 4;  // of a block

// Stores 32 elements, a lane's each; lanes without one have inside = false.
__device__ void store(float x, bool inside, int lane, float* y) {
  if (inside) y[lane] = x;
}
__device__ void store(float x, bool inside, int lane, F16* y) {
  if (inside) y[lane].bits = float_to_f16(x);
}
__device__ void store(float x, bool inside, int lane, BF16* y) {
  if (inside) y[lane].bits = float_to_bf16(x);
}
// As kernels/reference/kv_append.cpp defines it; every lane has an element.
__device__ void store(float x, bool, int lane, BlockQ8_0* y) {
  const uint32_t largest = reduce_warp(__float_as_uint(x) & 0x7fffffffu, Max());
  const uint16_t scale = float_to_f16(__uint_as_float(largest) / 127.0f);
  const float d = f16_to_float(scale);
  const bool representable = d != 0.0f && isfinite(d);
  if (lane == 0) y->d = scale;
  y->qs[lane] = representable ? static_cast<int8_t>(rintf(fminf(fmaxf(x / d, -127.0f), 127.0f))) : 0;
}

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
  const int64_t begin = warp % runs * kWarpSize;
  const bool inside = begin + lane < kv.head_dim;
  const float* source = (blockIdx.y == 0 ? p.k : p.v) + (row * kv.n_kv_heads + head) * kv.head_dim + begin;
  const int64_t slot = p.slot_mapping[row];
  const int64_t place = (slot / kv.block_size * kv.n_kv_heads + head) * kv.block_size + slot % kv.block_size;
  auto* target = static_cast<typename Format::Block*>(blockIdx.y == 0 ? kv.k : kv.v) +
                 (place * kv.head_dim + begin) / Format::kElems;
  store(inside ? source[lane] : 0.0f, inside, lane, target);
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
