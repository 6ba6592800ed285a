// Which ISA's kernels run: the best that the machine has, or the one that INFERNO_FORCE_ISA names.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/cpu_features.h"
#include "base/result.h"
#include "kernels/cpu/kernels.h"

namespace inferno::backend {

using kernels::CpuIsa;
using kernels::CpuKernels;

// Those that were built and whose needs `features` meets, worst first; the first is always "generic".
std::vector<const CpuIsa*> available_isas(const CpuFeatures& features);

// What to tell whoever runs a build on a better machine than it was made for, on one line: an ISA that is
// better than the last of available_isas() and that `features` has. Empty where there is none.
std::string missed_isa(const CpuFeatures& features);
// The same on this machine; empty, too, where INFERNO_FORCE_ISA has chosen.
std::string missed_isa();

// The last of available_isas(), or the one called `forced`. Errors, with the list of those here:
// kInvalidArgument for a name that no ISA has, kUnavailable for one that the machine or the build lacks.
Result<const CpuIsa*> choose_isa(const CpuFeatures& features, std::optional<std::string_view> forced);

// choose_isa() on this machine with INFERNO_FORCE_ISA.
Result<const CpuIsa*> chosen_isa();

// Its function table, filled up from the ISAs that it extends. `isa` is one of available_isas().
CpuKernels kernels_of(const CpuIsa& isa);

// What one thread does of a product: kernel.multiply() and, of as many rows as it takes, multiply_tiles().
void multiply_rows(const kernels::PanelMatmul& kernel, const kernels::PanelMatmulParams& params);

}  // namespace inferno::backend
