// What the files of this folder give to its table.
#pragma once

#include <cstdint>

#include "kernels/cpu/kernels.h"

namespace inferno::kernels::avx512 {

void set_float_ops(CpuKernels* table);
uint64_t read_all(const void* data, int64_t bytes, int64_t ahead);

constexpr int64_t kSums = 16;  // accumulators of a peak loop, half of the registers
int64_t fp32_loop(int64_t rounds);
int64_t int8_loop(int64_t rounds);
int64_t int8_in_int16_loop(int64_t rounds);

}  // namespace inferno::kernels::avx512
