// What the emulation itself has to notice, on kernels that are right and wrong on purpose.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cuda_runtime.h"
#include "emulated_cuda/faults.h"

namespace inferno::emulated_cuda {
namespace {

class EmulatedCuda : public testing::Test {
 protected:
  void SetUp() override {
    start_device();
    void* data = nullptr;
    ASSERT_EQ(cudaMalloc(&data, kCount * sizeof(int)), cudaSuccess);
    ints_ = static_cast<int*>(data);
  }
  void TearDown() override {
    start_device();
    static_cast<void>(cudaFree(ints_));
  }

  cudaError_t run(void (*kernel)(int*), unsigned blocks, unsigned threads) {
    void* pointers[] = {&ints_};
    const cudaError_t error = cudaLaunchKernel(kernel, dim3(blocks), dim3(threads), pointers, 0, nullptr);
    return error == cudaSuccess ? cudaStreamSynchronize(nullptr) : error;
  }
  void expect_noticed(void (*kernel)(int*), unsigned threads, const std::string& what) {
    EXPECT_EQ(run(kernel, 1, threads), cudaErrorLaunchFailure);
    EXPECT_NE(diagnosis().find(what), std::string::npos) << diagnosis();
    EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchFailure) << "the device is lost";
    EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaErrorLaunchFailure);
  }
  std::vector<int> values() {
    std::vector<int> host(kCount);
    EXPECT_EQ(cudaMemcpyAsync(host.data(), ints_, kCount * sizeof(int), cudaMemcpyDeviceToHost, nullptr),
              cudaSuccess);
    EXPECT_EQ(host[0], 0) << "copied before anybody waited for it";
    EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
    return host;
  }

  static constexpr size_t kCount = 256;
  int* ints_ = nullptr;
};

// Each writes the number of its neighbour across the whole block.
void reverse(int* ints) {
  __shared__ int numbers[64];
  numbers[threadIdx.x] = static_cast<int>(threadIdx.x + blockIdx.x * blockDim.x) + 1;
  __syncthreads();
  ints[threadIdx.x + blockIdx.x * blockDim.x] = numbers[blockDim.x - 1 - threadIdx.x];
}

TEST_F(EmulatedCuda, ThreadsMeetAtBarriersAndBlocksAreApart) {
  ASSERT_EQ(run(reverse, 4, 64), cudaSuccess);
  const std::vector<int> found = values();
  for (size_t i = 0; i < kCount; ++i) ASSERT_EQ(found[i], static_cast<int>(i / 64 * 64 + 63 - i % 64) + 1);
}

void exchange_twice(int* ints) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int once = __shfl_xor_sync(0xffffffffu, lane, 1);
  ints[threadIdx.x] = 100 * once + __shfl_xor_sync(0xffffffffu, once, 16);
}

TEST_F(EmulatedCuda, LanesExchangeWithinTheirWarp) {
  ASSERT_EQ(run(exchange_twice, 1, 64), cudaSuccess);
  const std::vector<int> found = values();
  for (int i = 0; i < 64; ++i) {
    const int lane = i % 32;
    ASSERT_EQ(found[static_cast<size_t>(i)], 100 * (lane ^ 1) + (lane ^ 1 ^ 16));
  }
}

void half_at_a_barrier(int*) {
  if (threadIdx.x < 32) __syncthreads();
}
void lane_leaves(int* ints) {
  if (threadIdx.x == 3) return;
  ints[threadIdx.x] = __shfl_xor_sync(0xffffffffu, 1, 1);
}
void two_places(int*) {
  if (threadIdx.x < 32) {
    __syncthreads();
  } else {
    __syncthreads();
  }
}

TEST_F(EmulatedCuda, BarriersThatNotAllReachAreNoticed) {
  expect_noticed(half_at_a_barrier, 64, "lane 0 of warp 0 waits for its block");
}
TEST_F(EmulatedCuda, ExchangesWithoutALaneAreNoticed) {
  expect_noticed(lane_leaves, 32, "lane 3 of warp 0 has ended");
}
TEST_F(EmulatedCuda, BarriersAtTwoPlacesAreNoticed) {
  expect_noticed(two_places, 64, "lane 0 of warp 1 waits for its block");
}

void reverse_without_barrier(int* ints) {
  __shared__ int numbers[64];
  numbers[threadIdx.x] = static_cast<int>(threadIdx.x);
  ints[threadIdx.x] = numbers[blockDim.x - 1 - threadIdx.x];
}
void all_write_one(int* ints) {
  ints[0] = static_cast<int>(threadIdx.x);
}
void behind(int* ints) {  // the 256 that there are
  ints[256] = 0;
}
void host_memory(int* ints) {
  ints[0] = 1;
}

TEST_F(EmulatedCuda, RacesAreNoticed) {
  expect_noticed(reverse_without_barrier, 64, "order of the threads");
}
TEST_F(EmulatedCuda, WritesToOnePlaceAreNoticed) {
  expect_noticed(all_write_one, 64, "order of the threads");
}
TEST_F(EmulatedCuda, WritesBehindAnAllocationAreNoticed) {
  expect_noticed(behind, 1, "written behind an allocation of 1024 bytes");
}

TEST_F(EmulatedCuda, PointersToTheHostAreNoticed) {
  std::vector<int> host(4);
  int* const on_device = ints_;
  ints_ = host.data();
  expect_noticed(host_memory, 1, "memory of the host");
  ints_ = on_device;
}

TEST_F(EmulatedCuda, TheHostCannotTouchTheDevicesMemory) {
  EXPECT_DEATH(ints_[0] = 1, "");
}

TEST_F(EmulatedCuda, LaunchesThatNoDeviceTakesAreRefused) {
  EXPECT_EQ(run(host_memory, 0, 1), cudaErrorInvalidConfiguration);
  EXPECT_EQ(run(host_memory, 1, 1025), cudaErrorInvalidConfiguration);
  EXPECT_EQ(run(host_memory, 1, 1), cudaSuccess) << "a refused launch leaves the device as it was";
}

}  // namespace
}  // namespace inferno::emulated_cuda
