#include "backend/no_metal/no_metal.h"

namespace inferno::backend {

Result<std::shared_ptr<Backend>> create_no_metal(const BackendOptions&) {
  return make_error(
      ErrorCode::kUnavailable,
      "--backend metal: no version of inferno has Metal kernels; to get them, add src/backend/metal with the "
      "primitives of src/backend/backend.h, as src/backend/cuda has them, on macOS on Apple silicon; "
      "--backend parallel runs here");
}

}  // namespace inferno::backend
