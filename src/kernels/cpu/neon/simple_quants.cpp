#include "kernels/cpu/loops/fill.h"
#include "kernels/cpu/neon/functions.h"
#include "kernels/cpu/neon/vector.h"

namespace inferno::kernels::neon {

void set_simple_quants(CpuKernels* table) {
  fill_simple_quants<NeonVector>(table);
}

}  // namespace inferno::kernels::neon
