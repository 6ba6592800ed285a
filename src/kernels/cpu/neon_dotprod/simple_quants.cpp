#include "kernels/cpu/loops/fill.h"
#include "kernels/cpu/neon_dotprod/functions.h"
#include "kernels/cpu/neon_dotprod/vector.h"

namespace inferno::kernels::neon_dotprod {

void set_simple_quants(CpuKernels* table) {
  fill_simple_quants<NeonDotprodVector>(table);
}

}  // namespace inferno::kernels::neon_dotprod
