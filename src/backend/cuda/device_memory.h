// Memory of the device, how much of it is allocated, and what is said when there is none left.
#pragma once

#include <cstdint>
#include <optional>

#include "backend/backend.h"
#include "base/result.h"
#include "tensor/tensor.h"

namespace inferno::backend::cuda {

// kResource, with what was asked for and what is there, where the device has no more.
Result<Buffer> alloc(size_t bytes);
// Bytes that the device has left; nullopt where it does not tell.
std::optional<uint64_t> free_bytes();

// Of all that alloc() has given in this process and that is not released.
AllocatedMemory allocated_memory();
void reset_peak_allocated_memory();

}  // namespace inferno::backend::cuda
