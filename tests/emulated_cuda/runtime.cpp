// The host's side of the emulated runtime: one device, whose streams are one queue.
#include <fmt/core.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <vector>

#include "cuda_runtime.h"
#include "emulated_cuda/faults.h"
#include "emulated_cuda/memory.h"

struct EmulatedStream {};

struct EmulatedEvent {
  bool waits = false;  // recorded, and not yet reached
  std::chrono::steady_clock::time_point reached;
};

namespace inferno::emulated_cuda {
namespace {

// Of the device that a program begins with.
Faults faults_of_environment() {
  Faults faults;
  if (const char* mib = std::getenv("EMULATED_CUDA_MEMORY_MIB"))
    faults.memory_bytes = std::strtoull(mib, nullptr, 10) << 20;
  return faults;
}

struct Device {
  Faults faults = faults_of_environment();
  std::deque<std::function<cudaError_t()>> queue;
  cudaError_t last_error = cudaSuccess;
  cudaError_t broken = cudaSuccess;  // what every call answers from then on
  std::string diagnosis;
  int launches = 0;
  int allocations = 0;
  size_t downloaded = 0;
};
Device device;

cudaError_t answer(cudaError_t error) {
  if (device.broken != cudaSuccess) error = device.broken;
  if (error != cudaSuccess) device.last_error = error;
  return error;
}

void breaks(std::string why) {
  device.broken = cudaErrorLaunchFailure;
  if (!device.diagnosis.empty()) return;
  device.diagnosis = std::move(why);
  fmt::print(stderr, "emulated CUDA device: {}\n", device.diagnosis);
}

template <class Done>
void work_until(const Done& done) {
  if (done() || device.queue.empty()) return;
  const OnDevice on_device;
  while (!done() && !device.queue.empty() && device.broken == cudaSuccess) {
    const auto task = std::move(device.queue.front());
    device.queue.pop_front();
    if (const cudaError_t error = task(); error != cudaSuccess) device.broken = error;
  }
}

cudaError_t put(std::function<cudaError_t()> task) {
  if (device.broken == cudaSuccess) device.queue.push_back(std::move(task));
  return answer(cudaSuccess);
}

// Runs the kernel in both orders, from the same memory; the results have to be the same.
std::string run_both_ways(Index3 grid, Index3 block, const std::function<void()>& thread) {
  const std::vector<std::byte> before(used_memory().begin(), used_memory().end());
  backwards = true;
  std::string wrong = run_grid(grid, block, thread);
  backwards = false;
  if (!wrong.empty()) return wrong;
  const std::vector<std::byte> after(used_memory().begin(), used_memory().end());
  std::copy(before.begin(), before.end(), used_memory().begin());
  wrong = run_grid(grid, block, thread);
  if (wrong.empty() && std::memcmp(after.data(), used_memory().data(), after.size()) != 0)
    wrong = "the result depends on the order of the threads";
  return wrong;
}

bool is_mapped(uintptr_t address) {
  constexpr uintptr_t kPage = 4096;
  return msync(reinterpret_cast<void*>(address / kPage * kPage), kPage, MS_ASYNC) == 0;
}

// What looks like a pointer and points to something, but not on the device. No size is as large.
bool has_host_pointer(const std::vector<uintptr_t>& words) {
  constexpr uintptr_t kLowest = uintptr_t{1} << 32;
  return std::any_of(words.begin(), words.end(), [](uintptr_t word) {
    return word >= kLowest && !is_device_memory(reinterpret_cast<void*>(word)) && is_mapped(word);
  });
}

// Whether a fault that comes after `count` launches or allocations has come with so many; -1 is never.
bool is_due(int count, int so_far) {
  return count >= 0 && so_far > count;
}

size_t memory_limit() {
  const bool is_full = is_due(device.faults.allocations_until_full, device.allocations);
  return is_full ? std::min(allocated_bytes(), device.faults.memory_bytes) : device.faults.memory_bytes;
}

}  // namespace

void start_device(const Faults& faults) {
  device = Device{};
  device.faults = faults;
}

const std::string& diagnosis() {
  return device.diagnosis;
}

int launch_count() {
  return device.launches;
}

size_t downloaded_bytes() {
  return device.downloaded;
}

}  // namespace inferno::emulated_cuda

using namespace inferno::emulated_cuda;  // NOLINT: what follows has the names and places of CUDA's

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "cudaSuccess";
    case cudaErrorInvalidValue:
      return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation:
      return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidConfiguration:
      return "cudaErrorInvalidConfiguration";
    case cudaErrorNoDevice:
      return "cudaErrorNoDevice";
    case cudaErrorLaunchFailure:
      return "cudaErrorLaunchFailure";
    default:
      return "an error that the emulation does not make";
  }
}

const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaErrorLaunchFailure ? "unspecified launch failure" : "emulated error";
}

cudaError_t cudaGetLastError() {
  const cudaError_t error = device.broken != cudaSuccess ? device.broken : device.last_error;
  device.last_error = cudaSuccess;
  return error;
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = device.faults.driver_version;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = device.faults.devices;
  return answer(*count == 0 ? cudaErrorNoDevice : cudaSuccess);
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {"emulated GPU", device.faults.compute_capability / 10,
                 device.faults.compute_capability % 10};
  return answer(cudaSuccess);
}

cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  if (device.broken != cudaSuccess) return answer(cudaSuccess);
  ++device.allocations;
  *pointer = allocate(bytes, memory_limit());
  return answer(*pointer == nullptr ? cudaErrorMemoryAllocation : cudaSuccess);
}

cudaError_t cudaFree(void* pointer) {
  work_until([] { return false; });
  if (std::string wrong = release(pointer); !wrong.empty()) breaks(std::move(wrong));
  return answer(cudaSuccess);
}

cudaError_t cudaMallocHost(void** pointer, size_t bytes) {
  *pointer = std::malloc(bytes);
  return answer(cudaSuccess);
}

cudaError_t cudaFreeHost(void* pointer) {
  work_until([] { return false; });
  std::free(pointer);
  return answer(cudaSuccess);
}

cudaError_t cudaMemGetInfo(size_t* left, size_t* total) {
  if (device.faults.hides_memory) return answer(cudaErrorInvalidValue);
  *total = device.faults.memory_bytes;
  *left = memory_limit() - std::min(memory_limit(), allocated_bytes());
  return answer(cudaSuccess);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = new EmulatedStream;
  return answer(cudaSuccess);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  delete stream;
  return answer(cudaSuccess);
}

cudaError_t cudaStreamSynchronize(cudaStream_t) {
  work_until([] { return false; });
  return answer(cudaSuccess);
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = new EmulatedEvent;
  return answer(cudaSuccess);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  work_until([&] { return !event->waits; });
  delete event;
  return answer(cudaSuccess);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
  event->waits = true;
  return put([event] {
    event->waits = false;
    event->reached = std::chrono::steady_clock::now();
    return cudaSuccess;
  });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  work_until([&] { return !event->waits; });
  return answer(cudaSuccess);
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  *milliseconds = std::chrono::duration<float, std::milli>(end->reached - begin->reached).count();
  return answer(cudaSuccess);
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t) {
  const bool to_device = kind != cudaMemcpyDeviceToHost, from_device = kind != cudaMemcpyHostToDevice;
  if (is_device_memory(to) != to_device || is_device_memory(from) != from_device)
    return answer(cudaErrorInvalidValue);
  if (kind == cudaMemcpyDeviceToHost) device.downloaded += bytes;
  return put([=] {
    std::memcpy(to, from, bytes);
    return cudaSuccess;
  });
}

cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t) {
  if (!is_device_memory(to)) return answer(cudaErrorInvalidValue);
  return put([=] {
    std::memset(to, value, bytes);
    return cudaSuccess;
  });
}

cudaError_t emulated_launch(dim3 grid, dim3 block, std::function<void()> thread,
                            std::vector<uintptr_t> words) {
  constexpr unsigned kMostThreads = 1024;
  constexpr unsigned kMostBlocks = 65535;  // in y and z
  ++device.launches;
  if (is_due(device.faults.launches_until_refused, device.launches) || grid.x * grid.y * grid.z == 0 ||
      grid.y > kMostBlocks || grid.z > kMostBlocks || block.x * block.y * block.z - 1 >= kMostThreads)
    return answer(cudaErrorInvalidConfiguration);
  if (is_due(device.faults.launches_until_broken, device.launches))
    return put([] { return cudaErrorLaunchFailure; });
  if (has_host_pointer(words)) {
    return put([] {
      breaks("a kernel was given memory of the host");
      return cudaErrorLaunchFailure;
    });
  }
  // Of the many launches of each kernel some will do.
  constexpr int kOneIn = 16;
  const auto run = device.launches % kOneIn == 1 ? run_both_ways : run_grid;
  return put([=] {
    std::string wrong = run({grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, thread);
    if (wrong.empty()) wrong = check_guards();
    if (wrong.empty()) return cudaSuccess;
    breaks(std::move(wrong));
    return cudaErrorLaunchFailure;
  });
}
