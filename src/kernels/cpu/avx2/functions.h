// What the files of this folder give to its table.
#pragma once

#include <cstdint>

#include "kernels/cpu/kernels.h"

namespace inferno::kernels::avx2 {

void set_float_ops(CpuKernels* table);
void set_simple_quants(CpuKernels* table);
void set_k_quants(CpuKernels* table);
uint64_t read_all(const void* data, int64_t bytes, int64_t ahead);

constexpr int64_t kSums = 12;  // accumulators of a peak loop; with the factors they fit into the 16 registers
int64_t fp32_loop(int64_t rounds);
constexpr int64_t kByteSums = 8;  // likewise, each with a register for its products
int64_t int8_loop(int64_t rounds);
int64_t int8_in_int16_loop(int64_t rounds);

}  // namespace inferno::kernels::avx2
