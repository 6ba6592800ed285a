// Keys and values as a cache stores them.
#pragma once

#include "kernels/cuda/device/formats.h"
#include "kernels/cuda/device/reduce.h"
#include "kernels/params.h"

namespace inferno::kernels::cuda {

// Stores 32 elements, a lane's each; lanes without one have inside = false.
__device__ inline void store_run(float x, bool inside, int lane, float* y) {
  if (inside) y[lane] = x;
}
__device__ inline void store_run(float x, bool inside, int lane, F16* y) {
  if (inside) y[lane].bits = float_to_f16(x);
}
__device__ inline void store_run(float x, bool inside, int lane, BF16* y) {
  if (inside) y[lane].bits = float_to_bf16(x);
}
// As kernels/reference/kv_append.cpp defines it; every lane has an element.
__device__ inline void store_run(float x, bool, int lane, BlockQ8_0* y) {
  const uint32_t largest = reduce_warp(__float_as_uint(x) & 0x7fffffffu, Max());
  const uint16_t scale = float_to_f16(__uint_as_float(largest) / 127.0f);
  const float d = f16_to_float(scale);
  const bool representable = d != 0.0f && isfinite(d);
  if (lane == 0) y->d = scale;
  y->qs[lane] = representable ? static_cast<int8_t>(rintf(fminf(fmaxf(x / d, -127.0f), 127.0f))) : 0;
}

// Run number `run` (of 32 elements) of a head of a row, from x (head_dim) to the cache's keys or values.
// Every lane of a warp calls it.
template <class Format>
__device__ void store_head_run(const float* x, int64_t run, const KvLayerView& kv, void* cache, int64_t slot,
                               int64_t head, int lane) {
  const int64_t begin = run * kWarpSize;
  const bool inside = begin + lane < kv.head_dim;
  const int64_t place = (slot / kv.block_size * kv.n_kv_heads + head) * kv.block_size + slot % kv.block_size;
  auto* target = static_cast<typename Format::Block*>(cache) + (place * kv.head_dim + begin) / Format::kElems;
  store_run(inside ? x[begin + lane] : 0.0f, inside, lane, target);
}

}  // namespace inferno::kernels::cuda
