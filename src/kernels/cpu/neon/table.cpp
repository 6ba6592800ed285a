#include "kernels/cpu/kernels.h"
#include "kernels/cpu/neon/functions.h"

namespace inferno::kernels::neon {

CpuKernels table(CpuKernels base) {
  set_float_ops(&base);
  set_simple_quants(&base);
  set_k_quants(&base);
  base.read_all = read_all;
  base.fp32 = {kSums * 4, fp32_loop};
  return base;
}

}  // namespace inferno::kernels::neon
