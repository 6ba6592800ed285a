#include "kernels/reference/reference.h"

namespace inferno::kernels::reference {

void gather_rows(const GatherRowsParams& p) {
  for (int64_t r = 0; r < p.n; ++r) {
    const float* x = p.x + p.ids[r] * p.dim;
    for (int64_t i = 0; i < p.dim; ++i) p.y[r * p.dim + i] = x[i];
  }
}

}  // namespace inferno::kernels::reference
