// What `inferno ceilings` prints.
#pragma once

#include <string>
#include <string_view>

#include "backend/backend.h"
#include "base/cpu_topology.h"

namespace inferno::apps {

// Tables of what was measured; with a warning when the machine was busy meanwhile.
std::string ceilings_text(const backend::Ceilings& ceilings, const CpuTopology& topology,
                          std::string_view isa);

}  // namespace inferno::apps
