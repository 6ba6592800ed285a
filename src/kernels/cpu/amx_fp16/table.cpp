// Tiles whose products are of float16 (Intel since Granite Rapids).
#include "kernels/cpu/amx/peak_loops.h"
#include "kernels/cpu/amx_fp16/functions.h"
#include "kernels/cpu/kernels.h"

namespace inferno::kernels::amx_fp16 {

CpuKernels table(CpuKernels base) {
  base.to_f16 = to_f16;
  set_f16_products(&base);
  set_attention(&base);
  base.fp16 = {kSums * kPairProduct, pair_loop<PairType::kF16, 0x3c00>};
  return base;
}

}  // namespace inferno::kernels::amx_fp16
