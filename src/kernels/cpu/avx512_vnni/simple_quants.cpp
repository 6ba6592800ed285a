#include "kernels/cpu/avx512_vnni/functions.h"
#include "kernels/cpu/avx512_vnni/vector.h"
#include "kernels/cpu/loops/fill.h"

namespace inferno::kernels::avx512_vnni {

void set_simple_quants(CpuKernels* table) {
  fill_simple_quants<Avx512VnniVector>(table);
}

}  // namespace inferno::kernels::avx512_vnni
