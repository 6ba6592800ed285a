// What the files of this folder give to its table.
#pragma once

#include <cstdint>

#include "kernels/cpu/kernels.h"

namespace inferno::kernels::neon {

void set_float_ops(CpuKernels* table);
void set_simple_quants(CpuKernels* table);
void set_k_quants(CpuKernels* table);
uint64_t read_all(const void* data, int64_t bytes, int64_t ahead);

constexpr int64_t kSums = 24;  // accumulators of a peak loop: four units of up to five cycles
int64_t fp32_loop(int64_t rounds);

}  // namespace inferno::kernels::neon
