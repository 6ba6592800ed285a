#include "kernels/cpu/avx512_vnni/functions.h"
#include "kernels/cpu/avx512_vnni/vector.h"
#include "kernels/cpu/loops/fill.h"

namespace inferno::kernels::avx512_vnni {

void set_k_quants(CpuKernels* table) {
  fill_k_quants<Avx512VnniVector>(table);
}

}  // namespace inferno::kernels::avx512_vnni
