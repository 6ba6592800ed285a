#include "kernels/cpu/loops/k_quants.h"

#include "kernels/cpu/amx_fp16/functions.h"
#include "kernels/cpu/amx_fp16/quant_products.h"

namespace inferno::kernels::amx_fp16 {

void set_k_quants(CpuKernels* table) {
  using V = Avx512VnniVector;
  set_halves<PanelQ2_K<V>>(table, DType::kQ2_K);
  set_halves<PanelQ3_K<V>>(table, DType::kQ3_K);
  set_halves<PanelQ4_K<V>>(table, DType::kQ4_K);
  set_halves<PanelQ5_K<V>>(table, DType::kQ5_K);
  set_halves<PanelQ6_K<V>>(table, DType::kQ6_K);
  set_halves<PanelIQ4_XS<V>>(table, DType::kIQ4_XS);
}

}  // namespace inferno::kernels::amx_fp16
