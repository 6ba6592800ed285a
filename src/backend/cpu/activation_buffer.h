// ActivationBuffer: memory of a backend for rows of activations in the forms that products take.
#pragma once

#include <cstdint>

#include "backend/host_backend.h"
#include "kernels/cpu/params.h"
#include "tensor/quant_blocks.h"

namespace inferno::backend {

class ActivationBuffer {
 public:
  // Makes room for rows in 8 bits if `quantizes`, in parts of bfloat16 if `splits`. What it holds is lost if
  // there is less. kResource when memory is refused.
  Status reserve(int64_t rows, int64_t cols, bool quantizes, bool splits, HostBackend& memory) {
    constexpr int64_t kWhole = 256;  // keeps the parts of the buffer aligned
    const int64_t elements = whole(rows * cols, kWhole);
    if (quantizes && elements > capacity_) {
      // As quantized_from() shares it out: a byte each, and of each block a scale, its sum and total, those
      // of its halves.
      TRY_ASSIGN(quantized_, memory.alloc(static_cast<size_t>(elements + elements / kBlock32 * 28)));
      capacity_ = elements;
    }
    if (!splits) return {};
    const int64_t numbers =
        whole(rows, kernels::kSplitRows) * whole(cols, kernels::kSplitCols) * kernels::kSplitParts;
    if (numbers > split_capacity_) {
      TRY_ASSIGN(split_, memory.alloc(static_cast<size_t>(numbers) * sizeof(uint16_t)));
      split_capacity_ = numbers;
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
  uint16_t* split() const { return static_cast<uint16_t*>(split_.data()); }

 private:
  static int64_t whole(int64_t n, int64_t multiple) { return (n + multiple - 1) / multiple * multiple; }

  Buffer quantized_, split_;
  int64_t capacity_ = 0;        // elements
  int64_t split_capacity_ = 0;  // numbers
};

}  // namespace inferno::backend
