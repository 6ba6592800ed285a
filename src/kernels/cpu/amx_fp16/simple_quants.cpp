#include "kernels/cpu/loops/simple_quants.h"

#include "kernels/cpu/amx_fp16/functions.h"
#include "kernels/cpu/amx_fp16/quant_products.h"
#include "kernels/cpu/loops/q8_0.h"

namespace inferno::kernels::amx_fp16 {

void set_simple_quants(CpuKernels* table) {
  using V = Avx512VnniVector;
  set_halves<PanelQ8_0<V>, PanelQ8_0<V>::pack>(table, DType::kQ8_0);
  set_halves<PanelQ4_0<V>>(table, DType::kQ4_0);
  set_halves<PanelQ4_1<V>>(table, DType::kQ4_1);
  set_halves<PanelQ5_0<V>>(table, DType::kQ5_0);
  set_halves<PanelQ5_1<V>>(table, DType::kQ5_1);
  set_halves<PanelIQ4_NL<V>>(table, DType::kIQ4_NL);
  set_halves<PanelMXFP4<V>>(table, DType::kMXFP4);
}

}  // namespace inferno::kernels::amx_fp16
