// What a test can have the emulated device do, and what the emulation has noticed.
#pragma once

#include <cstddef>
#include <string>

namespace inferno::emulated_cuda {

struct Faults {
  int driver_version = 13000;  // 0: no driver
  int devices = 1;
  int compute_capability = 90;
  size_t memory_bytes = size_t{256} << 20;  // of a program's device: EMULATED_CUDA_MEMORY_MIB
  int launches_until_refused = -1;          // the launch after so many is refused
  int launches_until_broken = -1;           // the one after so many dies, and the device with it
  int allocations_until_full = -1;  // before the one after so many, another process takes what is left
  bool hides_memory = false;        // it does not tell how much is left
};

// A new device with these faults; what was allocated on the old one stays allocated.
void start_device(const Faults& faults = {});

// What was wrong first since start_device(), in words: what a kernel did that a device may not notice. Such a
// launch has failed, too.
const std::string& diagnosis();

// Launches since start_device().
int launch_count();

// Bytes that copies to the host have taken since start_device().
size_t downloaded_bytes();

}  // namespace inferno::emulated_cuda
