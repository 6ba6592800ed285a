// ActivationBuffer: memory of a backend for rows of activations in the forms that products take.
#pragma once

#include <cstdint>

#include "backend/host_backend.h"
#include "kernels/cpu/params.h"
#include "tensor/quant_blocks.h"

namespace inferno::backend {

// Some of kernels::XForm.
class XForms {
 public:
  void add(kernels::XForm form) { bits_ |= bit(form); }
  bool has(kernels::XForm form) const { return (bits_ & bit(form)) != 0; }
  // In 8 bits, with what halves of blocks need or without.
  bool has_int8() const { return has(kernels::XForm::kInt8) || has(kernels::XForm::kInt8Halves); }

 private:
  static uint32_t bit(kernels::XForm form) { return uint32_t{1} << static_cast<int>(form); }

  uint32_t bits_ = 0;
};

class ActivationBuffer {
 public:
  // Makes room for rows in these forms. What it holds is lost if there is less. kResource when memory is
  // refused.
  Status reserve(int64_t rows, int64_t cols, XForms forms, HostBackend& memory) {
    using kernels::XForm;
    constexpr int64_t kWhole = 256;  // keeps the parts of the buffer aligned
    const int64_t elements = whole(rows * cols, kWhole);
    // As quantized_from() shares it out: a byte each, and of each block a scale, its sum and total, those of
    // its halves.
    if (forms.has_int8()) TRY(quantized_.reserve(elements, elements + elements / kBlock32 * 28, memory));
    if (forms.has(XForm::kBf16)) {
      const int64_t numbers = rows * kernels::bf16_stride(cols);
      TRY(bf16_.reserve(numbers, numbers * 2, memory));
    }
    if (forms.has(XForm::kBf16Parts)) {
      const int64_t numbers =
          whole(rows, kernels::kSplitRows) * whole(cols, kernels::kSplitCols) * kernels::kSplitParts;
      TRY(split_.reserve(numbers, numbers * 2, memory));
    }
    if (forms.has(XForm::kF16Parts)) {
      const int64_t whole_rows = whole(rows, kernels::kF16Rows);
      const int64_t numbers = whole_rows * whole(cols, kernels::kF16Cols) * kernels::kF16Parts;
      TRY(f16_.reserve(numbers, numbers * 2, memory));
      TRY(f16_scales_.reserve(whole_rows, whole_rows * 4, memory));
    }
    return {};
  }

  // From an element on that begins a block.
  kernels::QuantizedRows quantized_from(int64_t element) const {
    const int64_t n_blocks = quantized_.capacity / kBlock32;
    const int64_t block = element / kBlock32;
    auto* q = static_cast<int8_t*>(quantized_.buffer.data());
    auto* scale = reinterpret_cast<float*>(q + quantized_.capacity);
    auto* sum = reinterpret_cast<int32_t*>(scale + n_blocks);
    auto* total = reinterpret_cast<float*>(sum + n_blocks);
    auto* half = reinterpret_cast<int32_t*>(total + n_blocks);
    auto* half_total = reinterpret_cast<float*>(half + 2 * n_blocks);
    return {q + element, scale + block, sum + block, total + block, half + 2 * block, half_total + 2 * block};
  }
  uint16_t* bf16() const { return static_cast<uint16_t*>(bf16_.buffer.data()); }
  uint16_t* split() const { return static_cast<uint16_t*>(split_.buffer.data()); }
  kernels::F16Rows f16() const {
    return {static_cast<uint16_t*>(f16_.buffer.data()), static_cast<float*>(f16_scales_.buffer.data())};
  }

 private:
  struct Room {
    Buffer buffer;
    int64_t capacity = 0;  // elements

    Status reserve(int64_t elements, int64_t bytes, HostBackend& memory) {
      if (elements <= capacity) return {};
      TRY_ASSIGN(buffer, memory.alloc(static_cast<size_t>(bytes)));
      capacity = elements;
      return {};
    }
  };

  static int64_t whole(int64_t n, int64_t multiple) { return (n + multiple - 1) / multiple * multiple; }

  Room quantized_, bf16_, split_, f16_, f16_scales_;
};

// The rows that products multiply; `formed` holds them in the other forms that a product takes. Where none
// takes floats x may not be written.
struct Activations {
  const float* x;
  int64_t n;
  const ActivationBuffer& formed;
};

// Called with a thread, gives its rows: these.
struct SameForAll {
  Activations rows;
  Activations operator()(unsigned) const { return rows; }
};

}  // namespace inferno::backend
