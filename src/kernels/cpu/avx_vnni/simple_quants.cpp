#include "kernels/cpu/avx_vnni/functions.h"
#include "kernels/cpu/avx_vnni/vector.h"
#include "kernels/cpu/loops/fill.h"

namespace inferno::kernels::avx_vnni {

void set_simple_quants(CpuKernels* table) {
  fill_simple_quants<AvxVnniVector>(table);
}

}  // namespace inferno::kernels::avx_vnni
