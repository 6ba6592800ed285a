#include "kernels/cpu/avx2/functions.h"
#include "kernels/cpu/kernels.h"

namespace inferno::kernels::avx2 {

CpuKernels table(CpuKernels base) {
  set_float_ops(&base);
  set_simple_quants(&base);
  set_k_quants(&base);
  base.read_all = read_all;
  base.fp32 = {kSums * 8, fp32_loop};
  base.int8 = {kByteSums * 32, int8_loop};
  base.int8_in_int16 = {kByteSums * 32, int8_in_int16_loop};
  return base;
}

}  // namespace inferno::kernels::avx2
