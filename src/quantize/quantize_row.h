// From floats to the blocks of a format, the counterpart of kernels::reference::dequantize.
#pragma once

#include <cstdint>

#include "tensor/dtype.h"

namespace inferno::quantize {

// Stores n finite elements, n a multiple of the format's block. Each block depends on its own elements alone.
// nullptr for a type that is not written: F64, Q8_K and the integers.
using QuantizeFn = void (*)(const float* x, void* y, int64_t n);
QuantizeFn find_quantize(DType dtype);

}  // namespace inferno::quantize
