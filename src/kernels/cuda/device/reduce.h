// Sums and maxima over the lanes of a warp and the threads of a block, in an order that is always the same.
// Every thread calls them.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace inferno::kernels::cuda {

constexpr int kWarpSize = 32;

struct Sum {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a + b;
  }
};
struct Max {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
  __device__ uint32_t operator()(uint32_t a, uint32_t b) const { return a > b ? a : b; }
  __device__ uint64_t operator()(uint64_t a, uint64_t b) const { return a > b ? a : b; }
};

// In every lane.
template <class T, class Op>
__device__ T reduce_warp(T value, Op op) {
#pragma unroll
  for (int distance = kWarpSize / 2; distance > 0; distance /= 2) {
    value = op(value, __shfl_xor_sync(0xffffffffu, value, distance));
  }
  return value;
}

// Of kCount sums (a power of two) at once, each as reduce_warp() has it, bit by bit: lane l is left with sum
// l / (32 / kCount). While a lane has several it gives away half of them, so that 8 sums take 9 exchanges
// instead of 40.
template <int kCount>
__device__ float sum_warp(float (&values)[kCount], int lane) {
  int distance = kWarpSize / 2;
#pragma unroll
  for (int half = kCount / 2; half > 0; half /= 2) {
    const bool upper = (lane & distance) != 0;
#pragma unroll
    for (int i = 0; i < half; ++i) {
      const float kept = upper ? values[i + half] : values[i];
      const float given = upper ? values[i] : values[i + half];
      values[i] = kept + __shfl_xor_sync(0xffffffffu, given, distance);
    }
    distance /= 2;
  }
#pragma unroll
  for (; distance > 0; distance /= 2) values[0] += __shfl_xor_sync(0xffffffffu, values[0], distance);
  return values[0];
}

// In every thread of a block of kThreads; `scratch` is shared memory of kThreads / 32 values.
template <int kThreads, class T, class Op>
__device__ T reduce_block(T value, Op op, T* scratch) {
  value = reduce_warp(value, op);
  if (threadIdx.x % kWarpSize == 0) scratch[threadIdx.x / kWarpSize] = value;
  __syncthreads();
  T result = scratch[0];
  for (int warp = 1; warp < kThreads / kWarpSize; ++warp) result = op(result, scratch[warp]);
  __syncthreads();  // until all have read, nobody writes what comes next
  return result;
}

}  // namespace inferno::kernels::cuda
