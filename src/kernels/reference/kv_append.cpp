#include <algorithm>
#include <cmath>

#include "kernels/reference/reference.h"
#include "tensor/half.h"
#include "tensor/quant_blocks.h"

namespace inferno::kernels::reference {
namespace {

void store_f32(const float* x, void* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) static_cast<float*>(y)[i] = x[i];
}

template <uint16_t (*kRound)(float)>
void store_16(const float* x, void* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) static_cast<uint16_t*>(y)[i] = kRound(x[i]);
}

// x = d * q with d the largest magnitude / 127, and q the nearest (halves to even) of that rounded d. A NaN
// or an infinity makes d one, and so every element of the block NaN.
BlockQ8_0 quantize_block(const float* x) {
  uint32_t largest = 0;  // as bits, which order magnitudes as numbers do, NaN above all
  for (int i = 0; i < kBlock32; ++i) largest = std::max(largest, float_to_bits(x[i]) & 0x7fffffffu);
  BlockQ8_0 block = {.d = f32_to_f16(bits_to_float(largest) / 127.0f), .qs = {}};
  const float d = f16_to_f32(block.d);
  if (d == 0.0f || !std::isfinite(d)) return block;
  for (int i = 0; i < kBlock32; ++i) {
    // A d that was rounded down to a subnormal leaves more than 127.
    block.qs[i] = static_cast<int8_t>(std::nearbyint(std::clamp(x[i] / d, -127.0f, 127.0f)));
  }
  return block;
}

void store_q8_0(const float* x, void* y, int64_t n) {
  for (int64_t b = 0; b < n / kBlock32; ++b) static_cast<BlockQ8_0*>(y)[b] = quantize_block(x + b * kBlock32);
}

void store(DType dtype, const float* x, void* y, int64_t n) {
  switch (dtype) {
    case DType::kF16:
      return store_16<f32_to_f16>(x, y, n);
    case DType::kBF16:
      return store_16<f32_to_bf16>(x, y, n);
    case DType::kQ8_0:
      return store_q8_0(x, y, n);
    default:
      return store_f32(x, y, n);
  }
}

}  // namespace

void kv_append(const KvAppendParams& p) {
  const KvLayerView& kv = p.kv;
  const auto bytes = static_cast<int64_t>(row_bytes(kv.dtype, static_cast<size_t>(kv.head_dim)));
  for (int64_t r = 0; r < p.n; ++r) {
    const int64_t block = p.slot_mapping[r] / kv.block_size;
    const int64_t offset_in_block = p.slot_mapping[r] % kv.block_size;
    for (int64_t h = 0; h < kv.n_kv_heads; ++h) {
      const int64_t source = (r * kv.n_kv_heads + h) * kv.head_dim;
      const int64_t target = ((block * kv.n_kv_heads + h) * kv.block_size + offset_in_block) * bytes;
      store(kv.dtype, p.k + source, static_cast<uint8_t*>(kv.k) + target, kv.head_dim);
      store(kv.dtype, p.v + source, static_cast<uint8_t*>(kv.v) + target, kv.head_dim);
    }
  }
}

}  // namespace inferno::kernels::reference
