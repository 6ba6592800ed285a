#include "kernels/cpu/loops/fill.h"
#include "kernels/cpu/neon/functions.h"
#include "kernels/cpu/neon/vector.h"

namespace inferno::kernels::neon {

void set_float_ops(CpuKernels* table) {
  fill_float_ops<NeonVector>(table);
}

}  // namespace inferno::kernels::neon
