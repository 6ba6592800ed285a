#include "kernels/cpu/generic/functions.h"
#include "kernels/cpu/generic/vector.h"
#include "kernels/cpu/loops/fill.h"

namespace inferno::kernels::generic {

void set_float_ops(CpuKernels* table) {
  fill_float_ops<GenericVector>(table);
}

}  // namespace inferno::kernels::generic
