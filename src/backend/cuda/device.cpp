#include "backend/cuda/device.h"

#include <cuda_runtime.h>

#include "base/text.h"
#include "kernels/cuda/launch.h"

namespace inferno::backend::cuda {
namespace {

// The oldest that some architecture of ours is compiled for (cmake/cuda.cmake).
constexpr int kOldestMajor = 8;

template <class... Args>
Error unavailable(fmt::format_string<Args...> format, Args&&... args) {
  static_cast<void>(cudaGetLastError());  // it is reported here, and not as some launch's
  return make_error(ErrorCode::kUnavailable, "--backend cuda: {}; --backend parallel runs here",
                    fmt::format(format, std::forward<Args>(args)...));
}

// 13020 is 13.2.
std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

Status check_driver() {
  int driver = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0) {
    return unavailable("no NVIDIA driver was found; install one for CUDA {} or newer",
                       version_text(CUDART_VERSION));
  }
  // Within a major version older drivers take newer programs.
  if (driver / 1000 < CUDART_VERSION / 1000) {
    return unavailable(
        "the NVIDIA driver is for CUDA {}, this program needs one for CUDA {}.0 or newer; update it",
        version_text(driver), CUDART_VERSION / 1000);
  }
  return {};
}

// As cmake/cuda.cmake names them: wgmma, which Hopper alone has, needs the a.
std::string architecture_option(const cudaDeviceProp& properties) {
  return fmt::format("{}{}{}", properties.major, properties.minor, properties.major == 9 ? "a-real" : "");
}

// One thread that adds: what shows whether the kernels are compiled for this device and it takes work.
cudaError_t try_kernel() {
  void* data = nullptr;
  if (const cudaError_t error = cudaMalloc(&data, 2 * sizeof(float)); error != cudaSuccess) return error;
  const cudaError_t cleared = cudaMemsetAsync(data, 0, 2 * sizeof(float), nullptr);
  float* x = static_cast<float*>(data);
  kernels::cuda::add({x, x + 1, 1}, nullptr);
  const cudaError_t launched = cudaGetLastError();
  const cudaError_t ran = cudaStreamSynchronize(nullptr);
  static_cast<void>(cudaFree(data));
  if (cleared != cudaSuccess) return cleared;
  return launched != cudaSuccess ? launched : ran;
}

}  // namespace

Result<Device> find_device() {
  TRY(check_driver());
  int count = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess || count == 0) {
    return unavailable("no NVIDIA GPU was found ({}); look at nvidia-smi and CUDA_VISIBLE_DEVICES",
                       error == cudaSuccess ? "the driver shows none" : cudaGetErrorString(error));
  }
  cudaDeviceProp properties = {};
  if (const cudaError_t error = cudaGetDeviceProperties(&properties, 0); error != cudaSuccess) {
    return unavailable("the GPU does not answer ({}); look at nvidia-smi", cudaGetErrorString(error));
  }
  const Device device = {escaped(properties.name, sizeof properties.name),
                         fmt::format("sm_{}{}", properties.major, properties.minor),
                         version_text(CUDART_VERSION)};
  if (properties.major < kOldestMajor) {
    return unavailable(
        "{} has compute capability {}.{}, expected {}.0 or newer; take another GPU by "
        "CUDA_VISIBLE_DEVICES",
        device.name, properties.major, properties.minor, kOldestMajor);
  }
  const cudaError_t error = try_kernel();
  if (error == cudaErrorMemoryAllocation) {
    return unavailable("{} has no memory left; nvidia-smi says who has it", device.name);
  }
  if (error != cudaSuccess) {
    return unavailable(
        "{} ({}) does not run this build's kernels ({}); build with -DINFERNO_CUDA_ARCHITECTURES={} "
        "if none of them is for it, else look at nvidia-smi",
        device.name, device.architecture, cudaGetErrorString(error), architecture_option(properties));
  }
  return device;
}

}  // namespace inferno::backend::cuda
