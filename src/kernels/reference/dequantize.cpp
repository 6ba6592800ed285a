#include "kernels/reference/blocks.h"
#include "kernels/reference/reference.h"
#include "tensor/half.h"

namespace inferno::kernels::reference {
namespace {

template <class Block, int kBlockElems>
void dequantize_blocks(const void* x, float* y, int64_t n) {
  const Block* blocks = static_cast<const Block*>(x);
  for (int64_t b = 0; b < n / kBlockElems; ++b) dequantize_block(blocks[b], y + b * kBlockElems);
}

template <class Element, float (*kToFloat)(Element)>
void dequantize_elements(const void* x, float* y, int64_t n) {
  const Element* elements = static_cast<const Element*>(x);
  for (int64_t i = 0; i < n; ++i) y[i] = kToFloat(elements[i]);
}

float f32_to_f32(float value) {
  return value;
}

// Rounds to nearest.
float f64_to_f32(double value) {
  return static_cast<float>(value);
}

}  // namespace

DequantizeFn find_dequantize(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return dequantize_elements<float, f32_to_f32>;
    case DType::kF16:
      return dequantize_elements<uint16_t, f16_to_f32>;
    case DType::kBF16:
      return dequantize_elements<uint16_t, bf16_to_f32>;
    case DType::kF64:
      return dequantize_elements<double, f64_to_f32>;
    case DType::kQ4_0:
      return dequantize_blocks<BlockQ4_0, kBlock32>;
    case DType::kQ4_1:
      return dequantize_blocks<BlockQ4_1, kBlock32>;
    case DType::kQ5_0:
      return dequantize_blocks<BlockQ5_0, kBlock32>;
    case DType::kQ5_1:
      return dequantize_blocks<BlockQ5_1, kBlock32>;
    case DType::kQ8_0:
      return dequantize_blocks<BlockQ8_0, kBlock32>;
    case DType::kQ2_K:
      return dequantize_blocks<BlockQ2_K, kSuperBlock>;
    case DType::kQ3_K:
      return dequantize_blocks<BlockQ3_K, kSuperBlock>;
    case DType::kQ4_K:
      return dequantize_blocks<BlockQ4_K, kSuperBlock>;
    case DType::kQ5_K:
      return dequantize_blocks<BlockQ5_K, kSuperBlock>;
    case DType::kQ6_K:
      return dequantize_blocks<BlockQ6_K, kSuperBlock>;
    case DType::kQ8_K:
      return dequantize_blocks<BlockQ8_K, kSuperBlock>;
    case DType::kIQ4_NL:
      return dequantize_blocks<BlockIQ4_NL, kBlock32>;
    case DType::kIQ4_XS:
      return dequantize_blocks<BlockIQ4_XS, kSuperBlock>;
    case DType::kMXFP4:
      return dequantize_blocks<BlockMXFP4, kBlock32>;
    case DType::kI8:
    case DType::kI16:
    case DType::kI32:
    case DType::kI64:
      return nullptr;
  }
  return nullptr;
}

void dequantize(DType dtype, const void* x, float* y, int64_t n) {
  find_dequantize(dtype)(x, y, n);
}

}  // namespace inferno::kernels::reference
