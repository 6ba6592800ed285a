// How much memory the process may still take.
#pragma once

#include <cstdint>
#include <optional>

namespace inferno {

// Bytes that can be allocated without swapping or being killed: the smaller of the machine's available memory
// and what the control group has left. nullopt where the system does not tell.
std::optional<uint64_t> available_memory();

}  // namespace inferno
