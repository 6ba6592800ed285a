#include "tensor/tensor.h"

#include <fmt/core.h>

#include <span>

#include "base/text.h"

namespace inferno {

int64_t Tensor::n_elements() const {
  if (n_dims == 0) return 0;
  int64_t n = 1;
  for (int i = 0; i < n_dims; ++i) n *= shape[static_cast<size_t>(i)];
  return n;
}

size_t Tensor::bytes() const {
  return row_bytes(dtype, static_cast<size_t>(n_elements()));
}

std::string Tensor::shape_string() const {
  return fmt::format("[{}]", join(std::span(shape).first(static_cast<size_t>(n_dims)), ", "));
}

}  // namespace inferno
