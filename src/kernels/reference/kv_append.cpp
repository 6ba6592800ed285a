#include "kernels/reference/reference.h"
#include "tensor/half.h"

namespace inferno::kernels::reference {
namespace {

void store(const float* x, void* base, DType dtype, int64_t offset, int64_t n) {
  if (dtype == DType::kF16) {
    uint16_t* y = static_cast<uint16_t*>(base) + offset;
    for (int64_t i = 0; i < n; ++i) y[i] = f32_to_f16(x[i]);
  } else {
    float* y = static_cast<float*>(base) + offset;
    for (int64_t i = 0; i < n; ++i) y[i] = x[i];
  }
}

}  // namespace

void kv_append(const KvAppendParams& p) {
  const KvLayerView& kv = p.kv;
  for (int64_t r = 0; r < p.n; ++r) {
    const int64_t block = p.slot_mapping[r] / kv.block_size;
    const int64_t offset_in_block = p.slot_mapping[r] % kv.block_size;
    for (int64_t h = 0; h < kv.n_kv_heads; ++h) {
      const int64_t source = (r * kv.n_kv_heads + h) * kv.head_dim;
      const int64_t target = ((block * kv.n_kv_heads + h) * kv.block_size + offset_in_block) * kv.head_dim;
      store(p.k + source, kv.k, kv.dtype, target, kv.head_dim);
      store(p.v + source, kv.v, kv.dtype, target, kv.head_dim);
    }
  }
}

}  // namespace inferno::kernels::reference
