#include "backend/read_vector.h"

#include <vector>

#include "kernels/reference/reference.h"

namespace inferno::backend {

Status read_vector(const WeightSource& source, float* to) {
  const Tensor& tensor = source.tensor;
  const void* data = tensor.data;
  std::vector<std::byte> copy;
  if (source.copy_rows) {
    copy.resize(tensor.bytes());
    TRY(source.copy_rows(0, tensor.rows(), copy.data()));
    data = copy.data();
  }
  kernels::reference::dequantize(tensor.dtype, data, to, tensor.n_elements());
  return {};
}

}  // namespace inferno::backend
