#include "kernels/reference/reference.h"

namespace inferno::kernels::reference {

void embed(const EmbedParams& p) {
  const uint8_t* table = static_cast<const uint8_t*>(p.table);
  const int64_t bytes = static_cast<int64_t>(row_bytes(p.dtype, static_cast<size_t>(p.dim)));
  for (int64_t r = 0; r < p.n; ++r) {
    float* y = p.y + r * p.dim;
    dequantize(p.dtype, table + p.ids[r] * bytes, y, p.dim);
    for (int64_t i = 0; i < p.dim; ++i) y[i] *= p.scale;
  }
}

}  // namespace inferno::kernels::reference
