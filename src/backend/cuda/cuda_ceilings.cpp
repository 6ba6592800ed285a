#include "backend/cuda/cuda_ceilings.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <string_view>
#include <vector>

#include "backend/cuda/device_memory.h"
#include "base/text.h"
#include "kernels/cuda/launch.h"

namespace inferno::backend::cuda {
namespace {

constexpr size_t kMostBytes = size_t{1} << 30;  // many times every cache, and so is half of it
constexpr size_t kPasses = 20;
constexpr int kByte = 1;  // what is read, all over

// Memory with something in it, so that no pass reads what was never written.
Result<Buffer> memory_to_read(std::string_view doing, cudaStream_t stream) {
  constexpr size_t kTwoLines = 256;
  const size_t bytes = std::min<size_t>(kMostBytes, free_bytes().value_or(0) / 4) / kTwoLines * kTwoLines;
  TRY_ASSIGN(Buffer memory, alloc(bytes));
  TRY(check(doing, cudaMemsetAsync(memory.data(), kByte, bytes, stream)));
  return memory;
}

// Of passes, each of which put(stream) puts into the stream, and which move so many bytes.
template <class Put>
Result<Bandwidth> time_passes(std::string_view doing, size_t bytes, cudaStream_t stream, const Put& put) {
  TRY_ASSIGN(const OwnedEvent begin, make_event());
  TRY_ASSIGN(const OwnedEvent end, make_event());
  std::array<float, kPasses> milliseconds = {};
  for (float& time : milliseconds) {
    TRY(check(doing, cudaEventRecord(begin.get(), stream)));
    TRY(check(doing, put()));
    TRY(check(doing, cudaEventRecord(end.get(), stream)));
    TRY(check(doing, cudaEventSynchronize(end.get())));
    TRY(check(doing, cudaEventElapsedTime(&time, begin.get(), end.get())));
  }
  std::sort(milliseconds.begin(), milliseconds.end());
  const auto gb_per_s = [&](float time) {
    return time > 0 ? static_cast<double>(bytes) / (time * 1e6) : 0.0;
  };
  return Bandwidth{gb_per_s(milliseconds.front()), gb_per_s(milliseconds[kPasses / 2])};
}

// Of a pass over so many bytes: one that left some out would raise the ceiling unnoticed.
Status check_sums(std::string_view doing, const Buffer& sums, size_t bytes, cudaStream_t stream) {
  std::vector<uint64_t> found(kernels::cuda::kReadSums);
  TRY(check(doing, cudaMemcpyAsync(found.data(), sums.data(), sums.bytes(), cudaMemcpyDeviceToHost, stream)));
  TRY(check(doing, cudaStreamSynchronize(stream)));
  const uint64_t sum = std::accumulate(found.begin(), found.end(), uint64_t{0});
  const uint64_t expected = bytes / sizeof(uint64_t) * (UINT64_MAX / UINT8_MAX * kByte);
  if (sum == expected) return {};
  return make_error(
      ErrorCode::kRuntime,
      "--backend cuda: {}: expected the words of {} to add up to {:#x}, found {:#x}; the kernel "
      "that reads them is wrong, or the device is: run op_tests on it",
      doing, human_bytes(bytes), expected, sum);
}

}  // namespace

Result<Bandwidth> measure_read_bandwidth(cudaStream_t stream) {
  constexpr const char* kDoing = "measuring the read bandwidth";
  TRY_ASSIGN(const Buffer data, memory_to_read(kDoing, stream));
  TRY_ASSIGN(const Buffer sums, alloc(kernels::cuda::kReadSums * sizeof(uint64_t)));
  TRY_ASSIGN(const Bandwidth bandwidth, time_passes(kDoing, data.bytes(), stream, [&] {
               kernels::cuda::read_all(
                   {data.data(), static_cast<int64_t>(data.bytes()), static_cast<uint64_t*>(sums.data())},
                   stream);
               return cudaGetLastError();
             }));
  TRY(check_sums(kDoing, sums, data.bytes(), stream));
  return bandwidth;
}

Result<Bandwidth> measure_copy_bandwidth(cudaStream_t stream) {
  constexpr const char* kDoing = "measuring the copy bandwidth";
  TRY_ASSIGN(const Buffer data, memory_to_read(kDoing, stream));
  const size_t half = data.bytes() / 2;
  std::byte* const begin = static_cast<std::byte*>(data.data());
  return time_passes(kDoing, data.bytes(), stream, [&] {
    return cudaMemcpyAsync(begin + half, begin, half, cudaMemcpyDeviceToDevice, stream);
  });
}

}  // namespace inferno::backend::cuda
