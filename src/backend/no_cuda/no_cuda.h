// What stands here where the CUDA backend was not built: a sentence that says why and what to do.
#pragma once

#include <memory>

#include "backend/backend.h"

namespace inferno::backend {

Result<std::shared_ptr<Backend>> create_no_cuda(const BackendOptions& options);

}  // namespace inferno::backend
