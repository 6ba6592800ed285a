#include "kernels/cpu/loops/simple_quants.h"

#include "kernels/cpu/amx/functions.h"
#include "kernels/cpu/amx/int8_products.h"
#include "kernels/cpu/loops/planes.h"
#include "kernels/cpu/loops/q8_0.h"

namespace inferno::kernels::amx {

void set_simple_quants(CpuKernels* table) {
  using V = Avx512VnniVector;
  set_tiles<PanelQ8_0<V>>(table, DType::kQ8_0);
  set_tiles<WholeQ8_0<V>>(&table->planes[static_cast<int>(DType::kQ8_0)].whole);
  set_tiles<PanelQ4_0<V>>(table, DType::kQ4_0);
  set_tiles<PanelQ4_1<V>>(table, DType::kQ4_1);
  set_tiles<PanelQ5_0<V>>(table, DType::kQ5_0);
  set_tiles<PanelQ5_1<V>>(table, DType::kQ5_1);
  set_tiles<PanelIQ4_NL<V>>(table, DType::kIQ4_NL);
  set_tiles<PanelMXFP4<V>>(table, DType::kMXFP4);
}

}  // namespace inferno::kernels::amx
