#include "kernels/cpu/loops/k_quants.h"

#include "kernels/cpu/amx/functions.h"
#include "kernels/cpu/amx/int8_products.h"
#include "kernels/cpu/loops/planes.h"

namespace inferno::kernels::amx {

void set_k_quants(CpuKernels* table) {
  using V = Avx512VnniVector;
  set_tiles<PanelQ2_K<V>>(table, DType::kQ2_K);
  set_tiles<PanelQ3_K<V>>(table, DType::kQ3_K);
  set_tiles<PanelQ4_K<V>>(table, DType::kQ4_K);
  set_tiles<PanelQ5_K<V>>(table, DType::kQ5_K);
  set_tiles<PanelQ6_K<V>>(table, DType::kQ6_K);
  set_tiles<WholeQ6_K<V>>(&table->planes[static_cast<int>(DType::kQ6_K)].whole);
  set_tiles<PanelIQ4_XS<V>>(table, DType::kIQ4_XS);
}

}  // namespace inferno::kernels::amx
