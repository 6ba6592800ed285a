#include "kernels/reference/reference.h"

namespace inferno::kernels::reference {

void add(const AddParams& p) {
  for (int64_t i = 0; i < p.n; ++i) p.x[i] += p.y[i];
}

}  // namespace inferno::kernels::reference
