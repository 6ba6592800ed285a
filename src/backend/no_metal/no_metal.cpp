#include "backend/no_metal/no_metal.h"

namespace inferno::backend {

Result<std::shared_ptr<Backend>> create_no_metal(const BackendOptions&) {
  return make_error(
      ErrorCode::kUnavailable,
      "--backend metal: Metal needs macOS on Apple silicon and a build with Metal kernels, which "
      "inferno does not have; --backend parallel runs here");
}

}  // namespace inferno::backend
