// What the files of this folder give to its table.
#pragma once

#include "kernels/cpu/kernels.h"

namespace inferno::kernels::amx {

void set_simple_quants(CpuKernels* table);
void set_k_quants(CpuKernels* table);
void set_bf16_products(CpuKernels* table);
void set_attention(CpuKernels* table);

}  // namespace inferno::kernels::amx
