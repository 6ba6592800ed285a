// ActivationBuffer: memory of a backend for rows of activations in the forms that products take.
#pragma once

#include <cstdint>

#include "backend/host_backend.h"
#include "kernels/cpu/params.h"
#include "tensor/quant_blocks.h"

namespace inferno::backend {

class ActivationBuffer {
 public:
  // Makes room for so many elements in 8 bits and, if `splits`, in parts of bfloat16. What it holds is lost
  // if there is less. kResource when memory is refused.
  Status reserve(int64_t elements, bool splits, HostBackend& memory) {
    constexpr int64_t kWhole = 256;  // keeps the parts of the buffer aligned
    elements = (elements + kWhole - 1) / kWhole * kWhole;
    if (elements > capacity_) {
      // As quantized_from() shares it out: a byte each, and of each block a scale, its sum and total, those
      // of its halves.
      TRY_ASSIGN(quantized_, memory.alloc(static_cast<size_t>(elements + elements / kBlock32 * 28)));
      capacity_ = elements;
    }
    if (splits && elements > split_capacity_) {
      TRY_ASSIGN(split_, memory.alloc(static_cast<size_t>(elements) * 3 * sizeof(uint16_t)));
      split_capacity_ = elements;
    }
    return {};
  }
  // From an element on that begins a block.
  kernels::QuantizedRows quantized_from(int64_t element) const {
    const int64_t n_blocks = capacity_ / kBlock32;
    const int64_t block = element / kBlock32;
    auto* q = static_cast<int8_t*>(quantized_.data());
    auto* scale = reinterpret_cast<float*>(q + capacity_);
    auto* sum = reinterpret_cast<int32_t*>(scale + n_blocks);
    int32_t* half = sum + n_blocks;
    auto* total = reinterpret_cast<float*>(half + 2 * n_blocks);
    float* half_total = total + n_blocks;
    return {q + element, scale + block, sum + block, half + 2 * block, total + block, half_total + 2 * block};
  }
  kernels::SplitRows split_from(int64_t element) const {
    return {static_cast<uint16_t*>(split_.data()) + element, split_capacity_};
  }

 private:
  Buffer quantized_, split_;
  int64_t capacity_ = 0, split_capacity_ = 0;  // elements
};

}  // namespace inferno::backend
