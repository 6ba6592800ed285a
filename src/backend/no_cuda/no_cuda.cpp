#include "backend/no_cuda/no_cuda.h"

namespace inferno::backend {

Result<std::shared_ptr<Backend>> create_no_cuda(const BackendOptions&) {
  return make_error(ErrorCode::kUnavailable,
                    "--backend cuda: this build has no CUDA kernels; --backend parallel runs here");
}

}  // namespace inferno::backend
