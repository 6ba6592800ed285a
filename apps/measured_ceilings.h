// Measuring the machine's ceilings in sight of a user.
#pragma once

#include <functional>

#include "backend/backend.h"
#include "base/result.h"

namespace inferno::apps {

// What `measure` gives, which asks for the CPU's ceilings. Where that takes seconds, a line on stderr says so
// meanwhile, when that is a terminal; a warning when the figures could not be kept.
Result<backend::Ceilings> measured_ceilings(bool fresh,
                                            const std::function<Result<backend::Ceilings>()>& measure);
// Those of the backend: of a CPU's likewise; a device's are measured in a moment and never kept.
Result<backend::Ceilings> measured_ceilings(backend::Backend& backend);

}  // namespace inferno::apps
