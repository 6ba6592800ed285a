#include "kernels/cpu/loops/fill.h"
#include "kernels/cpu/neon_i8mm/functions.h"
#include "kernels/cpu/neon_i8mm/vector.h"

namespace inferno::kernels::neon_i8mm {

void set_k_quants(CpuKernels* table) {
  fill_k_quants<NeonI8mmVector>(table);
}

}  // namespace inferno::kernels::neon_i8mm
