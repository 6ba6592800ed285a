// How much memory the process may still take.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace inferno {

// Bytes that can be allocated without swapping or being killed: the smaller of the machine's available memory
// and what the control group has left. nullopt where the system does not tell.
std::optional<uint64_t> available_memory();

// For who was refused so many bytes: "639.4 MB are available", as available_memory() says; where that would
// have been enough, what else there may be.
std::string memory_left_text(uint64_t refused_bytes);

// What the control group of this folder leaves (cgroup v2, "Memory Interface Files"): its limit without what
// it holds. Files that it has cached are given back when memory is short: a model that was read before is no
// reason to refuse it now. nullopt without a limit.
std::optional<uint64_t> control_group_left(const std::string& folder);

// The most memory that the process has had resident since its start or the last reset; nullopt where the
// system does not tell.
std::optional<uint64_t> peak_resident_memory();
// Begins to look for it anew; what is resident now stays counted. False where the system does not allow it.
bool reset_peak_resident_memory();

}  // namespace inferno
