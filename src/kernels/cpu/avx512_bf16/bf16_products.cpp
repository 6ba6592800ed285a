#include "kernels/cpu/avx512_bf16/functions.h"
#include "kernels/cpu/avx512_bf16/vector.h"
#include "kernels/cpu/loops/bf16_pairs.h"
#include "kernels/cpu/loops/packed_bf16.h"

namespace inferno::kernels::avx512_bf16 {

void set_bf16_products(CpuKernels* table) {
  using V = Avx512Bf16Vector;
  using Pair = ElementBf16Pair<V>;
  table->to_bf16 = to_bf16_rows<V>;
  table->matmul[static_cast<int>(DType::kBF16)] = {V::kLanes,
                                                   XForm::kBf16,
                                                   float_panel_bytes<V, Pair>,
                                                   [](int64_t) -> int64_t { return 0; },
                                                   pack_bf16_pairs<V>,
                                                   multiply_float<V, Pair>,
                                                   nullptr,
                                                   kStreamedRows};
  // Panels as other vectors have them.
  table->compressed[static_cast<int>(DType::kBF16)].product = {V::kLanes,
                                                               XForm::kBf16,
                                                               PackedBf16<V>::panel_bytes,
                                                               packed_scratch_bytes<V, Pair>,
                                                               nullptr,
                                                               multiply_packed<V, Pair>,
                                                               nullptr,
                                                               kStreamedRows};
}

}  // namespace inferno::kernels::avx512_bf16
