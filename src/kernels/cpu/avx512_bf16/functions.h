// What the files of this folder give to its table.
#pragma once

#include "kernels/cpu/kernels.h"

namespace inferno::kernels::avx512_bf16 {

void set_bf16_products(CpuKernels* table);

}  // namespace inferno::kernels::avx512_bf16
