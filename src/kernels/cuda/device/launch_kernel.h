// How a kernel is launched: a function instead of <<<>>>, which only nvcc understands.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/launch.h"

namespace inferno::kernels::cuda {

template <class... Params>
void launch(void (*kernel)(Params...), dim3 grid, dim3 block, Stream stream,
            const std::type_identity_t<Params>&... params) {
  void* pointers[] = {const_cast<void*>(static_cast<const void*>(&params))...};
  // The runtime keeps the error for whoever asks for the last one.
  static_cast<void>(cudaLaunchKernel(kernel, grid, block, pointers, 0, static_cast<cudaStream_t>(stream)));
}

__host__ __device__ constexpr int64_t blocks_for(int64_t n, int64_t per_block) {
  return (n + per_block - 1) / per_block;
}

// A thread for each of n elements, each its own: thread_number() says which.
template <class Params>
void launch_for_each(int64_t n, void (*kernel)(Params), Stream stream, const Params& params) {
  constexpr unsigned kThreads = 256;
  if (n == 0) return;
  launch(kernel, dim3(static_cast<unsigned>(blocks_for(n, kThreads))), dim3(kThreads), stream, params);
}

__device__ inline int64_t thread_number() {
  return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

}  // namespace inferno::kernels::cuda
