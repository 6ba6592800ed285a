// QuantizedBuffer: memory of a backend for rows of activations in 8 bits.
#pragma once

#include <cstdint>

#include "backend/host_backend.h"
#include "kernels/cpu/params.h"
#include "tensor/quant_blocks.h"

namespace inferno::backend {

class QuantizedBuffer {
 public:
  // Makes room for so many elements. What it holds is lost if there is less. kResource when memory is
  // refused.
  Status reserve(int64_t elements, HostBackend& memory) {
    constexpr int64_t kWhole = 256;  // keeps the parts of the buffer aligned
    elements = (elements + kWhole - 1) / kWhole * kWhole;
    if (elements <= capacity_) return {};
    // As from() shares it out: a byte each, and of each block a scale, its sum and total, those of its
    // halves.
    TRY_ASSIGN(buffer_, memory.alloc(static_cast<size_t>(elements + elements / kBlock32 * 28)));
    capacity_ = elements;
    return {};
  }
  // From an element on that begins a block.
  kernels::QuantizedRows from(int64_t element) const {
    const int64_t n_blocks = capacity_ / kBlock32;
    const int64_t block = element / kBlock32;
    auto* q = static_cast<int8_t*>(buffer_.data());
    auto* scale = reinterpret_cast<float*>(q + capacity_);
    auto* sum = reinterpret_cast<int32_t*>(scale + n_blocks);
    int32_t* half = sum + n_blocks;
    auto* total = reinterpret_cast<float*>(half + 2 * n_blocks);
    float* half_total = total + n_blocks;
    return {q + element, scale + block, sum + block, half + 2 * block, total + block, half_total + 2 * block};
  }

 private:
  Buffer buffer_;
  int64_t capacity_ = 0;  // elements
};

}  // namespace inferno::backend
