// What stands in for the CUDA backend where it was not built: a sentence that says why and what to do.
#include "backend/cuda/cuda_backend.h"

namespace inferno::backend {

Result<std::shared_ptr<Backend>> create_cuda(const BackendOptions&) {
  return make_error(
      ErrorCode::kUnavailable,
      "--backend cuda: this build has no CUDA kernels, since " INFERNO_NO_CUDA_BECAUSE
      "; with nvcc 12.8 or newer, cmake --preset release -DINFERNO_CUDA=ON and ./run --build-only "
      "build them; --backend parallel runs here");
}

}  // namespace inferno::backend
