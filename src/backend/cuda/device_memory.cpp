#include "backend/cuda/device_memory.h"

#include <algorithm>
#include <atomic>

#include "backend/cuda/runtime.h"
#include "base/text.h"

namespace inferno::backend::cuda {
namespace {

std::atomic<uint64_t> allocated = 0;
std::atomic<uint64_t> most_allocated = 0;

void count_allocated(size_t bytes) {
  const uint64_t now = allocated += bytes;
  uint64_t most = most_allocated;
  while (now > most && !most_allocated.compare_exchange_weak(most, now)) {
  }
}

}  // namespace

AllocatedMemory allocated_memory() {
  return {allocated, most_allocated};
}

void reset_peak_allocated_memory() {
  most_allocated = allocated.load();
}

std::optional<uint64_t> free_bytes() {
  size_t left = 0;
  size_t total = 0;
  if (cudaMemGetInfo(&left, &total) == cudaSuccess) return left;
  static_cast<void>(cudaGetLastError());  // it is reported here, and not as some launch's
  return std::nullopt;
}

Result<Buffer> alloc(size_t bytes) {
  void* data = nullptr;
  const cudaError_t error = cudaMalloc(&data, std::max<size_t>(bytes, 1));
  if (error == cudaSuccess) {
    count_allocated(bytes);
    return Buffer(data, bytes, [bytes](void* p) {
      static_cast<void>(cudaFree(p));
      allocated -= bytes;
    });
  }
  if (error != cudaErrorMemoryAllocation) return runtime_error("taking memory", error);
  static_cast<void>(cudaGetLastError());  // it is reported here, and not as some launch's
  const auto left = free_bytes();
  return make_error(
      ErrorCode::kResource,
      "--backend cuda: out of the GPU's memory: {} were asked for, {} are free (nvidia-smi says who has it)",
      human_bytes(bytes), left ? human_bytes(*left) : "nobody knows how many");
}

}  // namespace inferno::backend::cuda
