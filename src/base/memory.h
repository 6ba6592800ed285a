// How much memory the process may still take.
#pragma once

#include <cstdint>
#include <optional>

namespace inferno {

// Bytes that can be allocated without swapping or being killed: the smaller of the machine's available memory
// and what the control group has left. nullopt where the system does not tell.
std::optional<uint64_t> available_memory();

// The most memory that the process has had resident so far; nullopt where the system does not tell.
std::optional<uint64_t> peak_resident_memory();

}  // namespace inferno
