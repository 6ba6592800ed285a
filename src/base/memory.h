// How much memory the process may still take.
#pragma once

#include <cstdint>
#include <optional>

namespace inferno {

// Bytes that can be allocated without swapping or being killed: the smaller of the machine's available memory
// and what the control group has left. nullopt where the system does not tell.
std::optional<uint64_t> available_memory();

// The most memory that the process has had resident since its start or the last reset; nullopt where the
// system does not tell.
std::optional<uint64_t> peak_resident_memory();
// Begins to look for it anew; what is resident now stays counted. False where the system does not allow it.
bool reset_peak_resident_memory();

}  // namespace inferno
