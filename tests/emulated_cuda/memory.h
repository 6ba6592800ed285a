// The emulated device's memory: apart from the host's, which may not touch it, and each allocation between
// guards.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace inferno::emulated_cuda {

// Uninitialized, which is all bits set: a NaN until it is written. nullptr where less is left.
void* allocate(size_t bytes, size_t limit);
// Says what is wrong with the pointer, or "".
std::string release(void* pointer);
size_t allocated_bytes();
// From the first allocation to the last one's guard; to be touched on the device.
std::span<std::byte> used_memory();
bool is_device_memory(const void* pointer);
// "" or which allocation had something written outside it.
std::string check_guards();

// While one lives, this thread is the device: its memory can be touched.
class OnDevice {
 public:
  OnDevice();
  ~OnDevice();
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
};

}  // namespace inferno::emulated_cuda
