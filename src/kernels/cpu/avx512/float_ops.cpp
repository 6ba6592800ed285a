#include "kernels/cpu/avx512/functions.h"
#include "kernels/cpu/avx512/vector.h"
#include "kernels/cpu/loops/fill.h"

namespace inferno::kernels::avx512 {

void set_float_ops(CpuKernels* table) {
  fill_float_ops<Avx512Vector>(table);
}

}  // namespace inferno::kernels::avx512
