#include "kernels/cpu/avx2/functions.h"
#include "kernels/cpu/avx2/vector.h"
#include "kernels/cpu/loops/fill.h"

namespace inferno::kernels::avx2 {

void set_k_quants(CpuKernels* table) {
  fill_k_quants<Avx2Vector>(table);
}

}  // namespace inferno::kernels::avx2
