// What the files of this folder give to its table.
#pragma once

#include "kernels/cpu/kernels.h"

namespace inferno::kernels::amx_fp16 {

void to_f16(const F16Params& p);
void set_f16_products(CpuKernels* table);
void set_attention(CpuKernels* table);

}  // namespace inferno::kernels::amx_fp16
