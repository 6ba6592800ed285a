// Stands in for the CUDA runtime's header where the .cu files and backend/cuda are compiled as plain C++ to
// be tested without a device: what they use of it, and nothing else. Streams do their work as late as they
// may, so that a missing synchronization is seen.
#pragma once

#include <math.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <source_location>
#include <tuple>
#include <utility>
#include <vector>

#include "emulated_cuda/grid.h"

// Where things are and what calls them. Shared memory is one block's at a time, as blocks run one by one.
#define __global__
#define __device__
#define __host__
#define __shared__ static
#define __grid_constant__

#define threadIdx (::inferno::emulated_cuda::thread_index)
#define blockIdx (::inferno::emulated_cuda::block_index)
#define blockDim (::inferno::emulated_cuda::block_size)
#define gridDim (::inferno::emulated_cuda::grid_size)

struct dim3 {
  unsigned x, y, z;
  explicit dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

struct ulonglong2 {
  unsigned long long x, y;
};

inline uint32_t __float_as_uint(float value) {
  return std::bit_cast<uint32_t>(value);
}
inline float __uint_as_float(uint32_t bits) {
  return std::bit_cast<float>(bits);
}

inline void __syncthreads(const std::source_location& place = std::source_location::current()) {
  inferno::emulated_cuda::wait_for_block(place);
}

// Of whole warps only: a mask that leaves out lanes which take part is undefined on a device.
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lane_mask,
                  const std::source_location& place = std::source_location::current()) {
  if (mask != 0xffffffffu) __builtin_trap();
  const unsigned from = inferno::emulated_cuda::lane_number() ^ static_cast<unsigned>(lane_mask);
  return inferno::emulated_cuda::exchange_value(value, from, place);
}

#define CUDART_VERSION 13000

enum cudaError_t {
  cudaSuccess,
  cudaErrorInvalidValue,
  cudaErrorMemoryAllocation,
  cudaErrorInvalidConfiguration,
  cudaErrorNoDevice,
  cudaErrorIllegalAddress,
  cudaErrorLaunchTimeout,
  cudaErrorAssert,
  cudaErrorHardwareStackError,
  cudaErrorIllegalInstruction,
  cudaErrorMisalignedAddress,
  cudaErrorInvalidAddressSpace,
  cudaErrorInvalidPc,
  cudaErrorLaunchFailure,
  cudaErrorMpsClientTerminated,
  cudaErrorContained,
  cudaErrorTensorMemoryLeak,
  cudaErrorExternalDevice,
};
const char* cudaGetErrorName(cudaError_t error);
const char* cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetLastError();

struct cudaDeviceProp {
  char name[256];
  int major, minor;
};
cudaError_t cudaDriverGetVersion(int* version);
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);

cudaError_t cudaMalloc(void** pointer, size_t bytes);
cudaError_t cudaFree(void* pointer);
cudaError_t cudaMallocHost(void** pointer, size_t bytes);
cudaError_t cudaFreeHost(void* pointer);
cudaError_t cudaMemGetInfo(size_t* left, size_t* total);

struct EmulatedStream;
using cudaStream_t = EmulatedStream*;
enum { cudaStreamNonBlocking = 1 };
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);

struct EmulatedEvent;
using cudaEvent_t = EmulatedEvent*;
cudaError_t cudaEventCreate(cudaEvent_t* event);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end);

enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice };
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream);
cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream);

// `thread` is the kernel with its parameters, `words` are these, in which pointers are looked for.
cudaError_t emulated_launch(dim3 grid, dim3 block, std::function<void()> thread,
                            std::vector<uintptr_t> words);

template <class T>
void append_words(T param, std::vector<uintptr_t>& words) {
  static_assert(sizeof param % sizeof(uintptr_t) == 0);
  __builtin_clear_padding(&param);  // else what lay there before might look like a pointer
  const size_t begin = words.size();
  words.resize(begin + sizeof param / sizeof(uintptr_t));
  std::memcpy(&words[begin], &param, sizeof param);
}

template <class... Params>
cudaError_t cudaLaunchKernel(void (*kernel)(Params...), dim3 grid, dim3 block, void** pointers,
                             size_t /*dynamic shared memory, which no kernel uses*/, cudaStream_t) {
  return [&]<size_t... kIndex>(std::index_sequence<kIndex...>) {
    const std::tuple<Params...> params(*static_cast<Params*>(pointers[kIndex])...);
    std::vector<uintptr_t> words;
    (append_words(std::get<kIndex>(params), words), ...);
    return emulated_launch(
        grid, block, [=] { std::apply(kernel, params); }, std::move(words));
  }
  (std::index_sequence_for<Params...>());
}
