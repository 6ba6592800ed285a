// The device that the CUDA backend computes on: the first that the runtime shows (CUDA_VISIBLE_DEVICES
// chooses).
#pragma once

#include <string>

#include "base/result.h"

namespace inferno::backend::cuda {

struct Device {
  std::string name;             // "NVIDIA H200"
  std::string architecture;     // "sm_90"
  std::string runtime_version;  // "13.0": of the CUDA runtime in this program
};

// kUnavailable where there is no driver, one that is too old, no device, or none that these kernels run on.
Result<Device> find_device();

}  // namespace inferno::backend::cuda
