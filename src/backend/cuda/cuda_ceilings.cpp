#include "backend/cuda/cuda_ceilings.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string_view>
#include <vector>

#include "backend/cuda/device_memory.h"
#include "backend/cuda/timed_passes.h"
#include "base/text.h"
#include "kernels/cuda/launch.h"

namespace inferno::backend::cuda {
namespace {

constexpr size_t kMostBytes = size_t{1} << 30;  // many times every cache, and so is half of it
constexpr int kByte = 1;                        // what is read, all over

// Memory with something in it, so that no pass reads what was never written.
Result<Buffer> memory_to_read(std::string_view doing, cudaStream_t stream) {
  constexpr size_t kTwoLines = 256;
  const size_t bytes = std::min<size_t>(kMostBytes, free_bytes().value_or(0) / 4) / kTwoLines * kTwoLines;
  TRY_ASSIGN(Buffer memory, alloc(bytes));
  TRY(check(doing, cudaMemsetAsync(memory.data(), kByte, bytes, stream)));
  return memory;
}

Bandwidth bandwidth_of(size_t bytes, const PassTimes& times) {
  const auto gb_per_s = [&](double ms) { return ms > 0 ? static_cast<double>(bytes) / (ms * 1e6) : 0.0; };
  return {gb_per_s(times.shortest_ms), gb_per_s(times.median_ms)};
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
  TRY_ASSIGN(const PassTimes times, time_passes(kDoing, stream, [&] {
               kernels::cuda::read_all(
                   {data.data(), static_cast<int64_t>(data.bytes()), static_cast<uint64_t*>(sums.data())},
                   stream);
               return check(kDoing, cudaGetLastError());
             }));
  TRY(check_sums(kDoing, sums, data.bytes(), stream));
  return bandwidth_of(data.bytes(), times);
}

Result<Bandwidth> measure_copy_bandwidth(cudaStream_t stream) {
  constexpr const char* kDoing = "measuring the copy bandwidth";
  TRY_ASSIGN(const Buffer data, memory_to_read(kDoing, stream));
  const size_t half = data.bytes() / 2;
  std::byte* const begin = static_cast<std::byte*>(data.data());
  TRY_ASSIGN(const PassTimes times, time_passes(kDoing, stream, [&] {
               return check(kDoing,
                            cudaMemcpyAsync(begin + half, begin, half, cudaMemcpyDeviceToDevice, stream));
             }));
  return bandwidth_of(data.bytes(), times);
}

}  // namespace inferno::backend::cuda
