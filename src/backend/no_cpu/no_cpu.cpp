#include "backend/no_cpu/no_cpu.h"

namespace inferno::backend {

Result<std::shared_ptr<Backend>> create_no_simd() {
  return make_error(ErrorCode::kUnavailable,
                    "--backend simd: this build has no vectorised CPU kernels; --backend scalar runs here");
}

Result<std::shared_ptr<Backend>> create_no_parallel() {
  return make_error(
      ErrorCode::kUnavailable,
      "--backend parallel: this build has no multi-threaded CPU kernels; --backend scalar runs here");
}

}  // namespace inferno::backend
