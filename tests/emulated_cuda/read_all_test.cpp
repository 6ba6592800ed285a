// The loop whose speed is the device's ceiling reads every word once.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <numeric>

#include "emulated_cuda/faults.h"
#include "emulated_cuda/memory.h"
#include "kernels/cuda/launch.h"
#include "kernels/reference/reference.h"
#include "support/random.h"

namespace inferno {
namespace {

TEST(EmulatedCudaReadAll, AddsUpWhatTheReferenceDoes) {
  emulated_cuda::start_device();
  test::Random random(11);
  constexpr int64_t kPass = kernels::cuda::kReadSums * 32 * 16;  // what all lanes read at a time
  for (const int64_t bytes : {int64_t{16}, int64_t{1040}, kPass, kPass + 16, 2 * kPass - 16}) {
    std::vector<std::byte> data(static_cast<size_t>(bytes));
    for (std::byte& byte : data) byte = static_cast<std::byte>(random.byte());
    std::vector<uint64_t> sums(kernels::cuda::kReadSums);
    void* on_device = nullptr;
    void* sums_on_device = nullptr;
    ASSERT_EQ(cudaMalloc(&on_device, data.size()), cudaSuccess);
    ASSERT_EQ(cudaMalloc(&sums_on_device, sums.size() * sizeof(uint64_t)), cudaSuccess);
    cudaMemcpyAsync(on_device, data.data(), data.size(), cudaMemcpyHostToDevice, nullptr);
    kernels::cuda::read_all({on_device, bytes, static_cast<uint64_t*>(sums_on_device)}, nullptr);
    cudaMemcpyAsync(sums.data(), sums_on_device, sums.size() * sizeof(uint64_t), cudaMemcpyDeviceToHost,
                    nullptr);
    ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess) << emulated_cuda::diagnosis();
    EXPECT_EQ(std::accumulate(sums.begin(), sums.end(), uint64_t{0}),
              kernels::reference::read_all(data.data(), bytes))
        << bytes;
    EXPECT_EQ(cudaFree(on_device), cudaSuccess);
    EXPECT_EQ(cudaFree(sums_on_device), cudaSuccess);
  }
}

}  // namespace
}  // namespace inferno
