#include "backend/cuda/cuda_ceilings.h"

#include <algorithm>
#include <array>

#include "backend/cuda/device_memory.h"
#include "kernels/cuda/launch.h"

namespace inferno::backend::cuda {
namespace {

constexpr size_t kMostBytes = size_t{1} << 30;  // many times every cache
constexpr size_t kPasses = 20;

}  // namespace

Result<ReadBandwidth> measure_read_bandwidth(cudaStream_t stream) {
  constexpr size_t kLine = 128;
  const size_t bytes = std::min<size_t>(kMostBytes, free_bytes().value_or(0) / 4) / kLine * kLine;
  TRY_ASSIGN(const Buffer data, alloc(bytes));
  TRY_ASSIGN(const Buffer sums, alloc(kernels::cuda::kReadSums * sizeof(uint64_t)));
  TRY_ASSIGN(const OwnedEvent begin, make_event());
  TRY_ASSIGN(const OwnedEvent end, make_event());
  constexpr const char* kDoing = "measuring the read bandwidth";
  TRY(check(kDoing, cudaMemsetAsync(data.data(), 1, bytes, stream)));
  std::array<float, kPasses> milliseconds = {};
  for (float& time : milliseconds) {
    TRY(check(kDoing, cudaEventRecord(begin.get(), stream)));
    kernels::cuda::read_all({data.data(), static_cast<int64_t>(bytes), static_cast<uint64_t*>(sums.data())},
                            stream);
    TRY(check(kDoing, cudaGetLastError()));
    TRY(check(kDoing, cudaEventRecord(end.get(), stream)));
    TRY(check(kDoing, cudaEventSynchronize(end.get())));
    TRY(check(kDoing, cudaEventElapsedTime(&time, begin.get(), end.get())));
  }
  std::sort(milliseconds.begin(), milliseconds.end());
  const auto gb_per_s = [&](float time) {
    return time > 0 ? static_cast<double>(bytes) / (time * 1e6) : 0.0;
  };
  return ReadBandwidth{gb_per_s(milliseconds.front()), gb_per_s(milliseconds[kPasses / 2])};
}

}  // namespace inferno::backend::cuda
