// --backend scalar: the reference kernels on one thread, one float at a time. Slow, obvious, and the oracle
// of every other backend.
#pragma once

#include <memory>

#include "backend/backend.h"

namespace inferno::backend {

Result<std::shared_ptr<Backend>> create_scalar(const BackendOptions& options);

}  // namespace inferno::backend
