// What stands here where the Metal backend was not built: a sentence that says why and what to do.
#pragma once

#include <memory>

#include "backend/backend.h"

namespace inferno::backend {

Result<std::shared_ptr<Backend>> create_no_metal(const BackendOptions& options);

}  // namespace inferno::backend
