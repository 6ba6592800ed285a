#include "kernels/cpu/generic/functions.h"
#include "kernels/cpu/generic/vector.h"
#include "kernels/cpu/loops/fill.h"

namespace inferno::kernels::generic {

void set_k_quants(CpuKernels* table) {
  fill_k_quants<GenericVector>(table);
}

}  // namespace inferno::kernels::generic
