// The CPU's kernels of the best ISA there is (or of the one that INFERNO_FORCE_ISA names): --backend simd on
// one thread, --backend parallel on all cores.
#pragma once

#include <memory>

#include "backend/backend.h"

namespace inferno::backend {

Result<std::shared_ptr<Backend>> create_simd(const BackendOptions& options);
Result<std::shared_ptr<Backend>> create_parallel(const BackendOptions& options);

}  // namespace inferno::backend
