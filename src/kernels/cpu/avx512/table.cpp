#include "kernels/cpu/avx512/functions.h"
#include "kernels/cpu/kernels.h"

namespace inferno::kernels::avx512 {

CpuKernels table(CpuKernels base) {
  set_float_ops(&base);
  base.read_all = read_all;
  base.fp32 = {kSums * 16, fp32_loop};
  base.int8 = {kSums * 64, int8_loop};
  base.int8_in_int16 = {kSums * 64, int8_in_int16_loop};
  return base;
}

}  // namespace inferno::kernels::avx512
