#include "quantize/quantize_row.h"

#include "quantize/blocks.h"
#include "tensor/half.h"

namespace inferno::quantize {
namespace {

template <class Block, int kBlockElems>
void quantize_blocks(const float* x, void* y, int64_t n) {
  auto* blocks = static_cast<Block*>(y);
  for (int64_t b = 0; b < n / kBlockElems; ++b) quantize_block(x + b * kBlockElems, blocks[b]);
}

template <class Element, Element (*kConvert)(float)>
void convert_elements(const float* x, void* y, int64_t n) {
  auto* elements = static_cast<Element*>(y);
  for (int64_t i = 0; i < n; ++i) elements[i] = kConvert(x[i]);
}

float f32_to_f32(float value) {
  return value;
}

}  // namespace

QuantizeFn find_quantize(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return convert_elements<float, f32_to_f32>;
    case DType::kF16:
      return convert_elements<uint16_t, f32_to_f16>;
    case DType::kBF16:
      return convert_elements<uint16_t, f32_to_bf16>;
    case DType::kQ4_0:
      return quantize_blocks<BlockQ4_0, kBlock32>;
    case DType::kQ4_1:
      return quantize_blocks<BlockQ4_1, kBlock32>;
    case DType::kQ5_0:
      return quantize_blocks<BlockQ5_0, kBlock32>;
    case DType::kQ5_1:
      return quantize_blocks<BlockQ5_1, kBlock32>;
    case DType::kQ8_0:
      return quantize_blocks<BlockQ8_0, kBlock32>;
    case DType::kQ2_K:
      return quantize_blocks<BlockQ2_K, kSuperBlock>;
    case DType::kQ3_K:
      return quantize_blocks<BlockQ3_K, kSuperBlock>;
    case DType::kQ4_K:
      return quantize_blocks<BlockQ4_K, kSuperBlock>;
    case DType::kQ5_K:
      return quantize_blocks<BlockQ5_K, kSuperBlock>;
    case DType::kQ6_K:
      return quantize_blocks<BlockQ6_K, kSuperBlock>;
    case DType::kIQ4_NL:
      return quantize_blocks<BlockIQ4_NL, kBlock32>;
    case DType::kIQ4_XS:
      return quantize_blocks<BlockIQ4_XS, kSuperBlock>;
    case DType::kMXFP4:
      return quantize_blocks<BlockMXFP4, kBlock32>;
    case DType::kF64:
    case DType::kQ8_K:
    case DType::kI8:
    case DType::kI16:
    case DType::kI32:
    case DType::kI64:
      return nullptr;
  }
  return nullptr;
}

}  // namespace inferno::quantize
