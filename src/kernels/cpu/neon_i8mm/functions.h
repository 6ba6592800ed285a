// What the files of this folder give to its table.
#pragma once

#include "kernels/cpu/kernels.h"

namespace inferno::kernels::neon_i8mm {

void set_simple_quants(CpuKernels* table);
void set_k_quants(CpuKernels* table);

}  // namespace inferno::kernels::neon_i8mm
