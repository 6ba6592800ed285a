#include "backend/cuda/cuda_ceilings.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <vector>

#include "backend/cuda/device_memory.h"
#include "base/text.h"
#include "kernels/cuda/launch.h"

namespace inferno::backend::cuda {
namespace {

constexpr size_t kMostBytes = size_t{1} << 30;  // many times every cache
constexpr size_t kPasses = 20;
constexpr int kByte = 1;  // what is read, all over
constexpr const char* kDoing = "measuring the read bandwidth";

// Of a pass over so many bytes: one that left some out would raise the ceiling unnoticed.
Status check_sums(const Buffer& sums, size_t bytes, cudaStream_t stream) {
  std::vector<uint64_t> found(kernels::cuda::kReadSums);
  TRY(check(kDoing,
            cudaMemcpyAsync(found.data(), sums.data(), sums.bytes(), cudaMemcpyDeviceToHost, stream)));
  TRY(check(kDoing, cudaStreamSynchronize(stream)));
  const uint64_t sum = std::accumulate(found.begin(), found.end(), uint64_t{0});
  const uint64_t expected = bytes / sizeof(uint64_t) * (UINT64_MAX / UINT8_MAX * kByte);
  if (sum == expected) return {};
  return make_error(
      ErrorCode::kRuntime,
      "--backend cuda: {}: expected the words of {} to add up to {:#x}, found {:#x}; the kernel "
      "that reads them is wrong, or the device is: run op_tests on it",
      kDoing, human_bytes(bytes), expected, sum);
}

}  // namespace

Result<ReadBandwidth> measure_read_bandwidth(cudaStream_t stream) {
  constexpr size_t kLine = 128;
  const size_t bytes = std::min<size_t>(kMostBytes, free_bytes().value_or(0) / 4) / kLine * kLine;
  TRY_ASSIGN(const Buffer data, alloc(bytes));
  TRY_ASSIGN(const Buffer sums, alloc(kernels::cuda::kReadSums * sizeof(uint64_t)));
  TRY_ASSIGN(const OwnedEvent begin, make_event());
  TRY_ASSIGN(const OwnedEvent end, make_event());
  TRY(check(kDoing, cudaMemsetAsync(data.data(), kByte, bytes, stream)));
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
  TRY(check_sums(sums, bytes, stream));
  std::sort(milliseconds.begin(), milliseconds.end());
  const auto gb_per_s = [&](float time) {
    return time > 0 ? static_cast<double>(bytes) / (time * 1e6) : 0.0;
  };
  return ReadBandwidth{gb_per_s(milliseconds.front()), gb_per_s(milliseconds[kPasses / 2])};
}

}  // namespace inferno::backend::cuda
