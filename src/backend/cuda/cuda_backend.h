// --backend cuda: the kernels of kernels/cuda in one stream, each step composed of primitives. Where it was
// not built, no_cuda/ has the function, which then says so.
#pragma once

#include <memory>

#include "backend/backend.h"

namespace inferno::backend {

// kUnavailable, with what to do, where there is no device, driver or kernel that fits.
Result<std::shared_ptr<Backend>> create_cuda(const BackendOptions& options);

}  // namespace inferno::backend
