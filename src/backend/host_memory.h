// Memory of the backends that compute on the CPU.
#pragma once

#include <cstddef>

#include "base/result.h"
#include "tensor/tensor.h"

namespace inferno::backend {

// 64-byte aligned, uninitialized. kResource with the size that was asked for.
Result<Buffer> alloc_host(size_t bytes);

}  // namespace inferno::backend
