// Devices as op sets: each operation through the seam, on copies in the device's memory.

#include <algorithm>
#include <memory>

#include "backend/backend.h"
#include "ops/op_case.h"

namespace inferno::test {
namespace {

using backend::Backend;
using backend::BatchView;
using backend::Weight;
using backend::WeightUse;
using Bytes = std::vector<uint8_t>;

Tensor tensor(DType dtype, std::initializer_list<int64_t> shape, const void* data) {
  Tensor t{
      .dtype = dtype, .n_dims = static_cast<int>(shape.size()), .shape = {}, .data = const_cast<void*>(data)};
  std::copy(shape.begin(), shape.end(), t.shape.begin());
  return t;
}

void expect_ok(const Status& status) {
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().message);
}

// A copy of host data in the device's memory, between canaries.
class Copy {
 public:
  Copy(Backend& device, const void* host, size_t bytes)
      : device_(device), bytes_(bytes), memory_(device.alloc(bytes + 2 * kGuard).value()) {
    Bytes guarded(bytes + 2 * kGuard, kCanary);
    const auto* first = static_cast<const uint8_t*>(host);
    std::copy(first, first + bytes, guarded.begin() + kGuard);
    expect_ok(device.upload(memory_.data(), guarded.data(), guarded.size()));
  }
  Copy(Backend& device, const float* host, int64_t count)
      : Copy(device, static_cast<const void*>(host), static_cast<size_t>(count) * sizeof(float)) {}

  uint8_t* data() const { return static_cast<uint8_t*>(memory_.data()) + kGuard; }
  Tensor floats(std::initializer_list<int64_t> shape) const { return tensor(DType::kF32, shape, data()); }

  void back_to(void* host) const {
    Bytes guarded(bytes_ + 2 * kGuard);
    expect_ok(device_.download(guarded.data(), memory_.data(), guarded.size()));
    const auto alive = [](uint8_t byte) { return byte == kCanary; };
    EXPECT_TRUE(std::all_of(guarded.begin(), guarded.begin() + kGuard, alive)) << "written before the buffer";
    EXPECT_TRUE(std::all_of(guarded.end() - kGuard, guarded.end(), alive)) << "written behind the buffer";
    std::copy(guarded.begin() + kGuard, guarded.end() - kGuard, static_cast<uint8_t*>(host));
  }

 private:
  static constexpr std::ptrdiff_t kGuard = 256;  // data stays aligned as allocations are
  static constexpr uint8_t kCanary = 0xa5;
  Backend& device_;
  size_t bytes_;
  Buffer memory_;
};

// A forward pass of the one operation that `run` calls with the batch on the device.
template <class Run>
void forward(Backend& device, const BatchView& batch, const Run& run) {
  run(device.begin_forward(batch));
  expect_ok(device.end_forward());
}

Weight load(Backend& device, DType dtype, std::initializer_list<int64_t> shape, const void* data,
            WeightUse use) {
  return device.load_weight(tensor(dtype, shape, data), use).value();
}

int64_t rows_for(const int32_t* ids, int64_t n) {
  return n == 0 ? 0 : *std::max_element(ids, ids + n) + 1;
}

void embed(Backend& device, const kernels::EmbedParams& p) {
  const Weight table = load(device, p.dtype, {rows_for(p.ids, p.n), p.dim}, p.table, WeightUse::kEmbedding);
  const Copy y(device, p.y, p.n * p.dim);
  forward(device, {.n_tokens = p.n, .token_ids = p.ids}, [&](const BatchView& batch) {
    device.embed({table, batch, y.floats({p.n, p.dim}), p.scale});
  });
  y.back_to(p.y);
}

void matmul(Backend& device, const kernels::MatmulParams& p) {
  const Weight w = load(device, p.dtype, {p.m, p.k}, p.w, WeightUse::kMatmul);
  const Weight bias =
      p.bias == nullptr ? Weight() : load(device, DType::kF32, {p.m}, p.bias, WeightUse::kVector);
  const Copy x(device, p.x, p.n * p.k);
  const Copy y(device, p.y, p.n * p.m);
  forward(device, {}, [&](const BatchView&) {
    device.matmul({w, bias, x.floats({p.n, p.k}), y.floats({p.n, p.m})});
  });
  y.back_to(p.y);
}

void rms_norm(Backend& device, const kernels::RmsNormParams& p) {
  const Weight w = load(device, DType::kF32, {p.dim}, p.w, WeightUse::kVector);
  const Copy x(device, p.x, p.n * p.dim);
  const Copy apart(device, p.y, p.n * p.dim);
  const Copy& y = p.y == p.x ? x : apart;
  forward(device, {}, [&](const BatchView&) {
    device.rms_norm({w, x.floats({p.n, p.dim}), y.floats({p.n, p.dim}), p.eps});
  });
  y.back_to(p.y);
}

void rope_table(Backend& device, const kernels::RopeTableParams& p) {
  const Copy cos_sin(device, p.cos_sin, 2 * p.n * p.n_pairs);
  forward(device, {.n_tokens = p.n, .positions = p.positions}, [&](const BatchView& batch) {
    device.rope_table({batch, p.inv_freq, cos_sin.floats({p.n, p.n_pairs, 2})});
  });
  cos_sin.back_to(p.cos_sin);
}

void rope(Backend& device, const kernels::RopeParams& p) {
  const Copy x(device, p.x, p.n * p.n_heads * p.head_dim);
  const Copy cos_sin(device, p.cos_sin, 2 * p.n * p.n_pairs);
  forward(device, {}, [&](const BatchView&) {
    device.rope({x.floats({p.n, p.n_heads, p.head_dim}), cos_sin.floats({p.n, p.n_pairs, 2}), p.style});
  });
  x.back_to(p.x);
}

size_t cache_bytes(const kernels::KvLayerView& kv, int64_t n_blocks) {
  return row_bytes(kv.dtype, static_cast<size_t>(n_blocks * kv.block_size * kv.n_kv_heads * kv.head_dim));
}

kernels::KvLayerView with_memory(kernels::KvLayerView kv, const Copy& k, const Copy& v) {
  kv.k = k.data();
  kv.v = v.data();
  return kv;
}

void kv_append(Backend& device, const kernels::KvAppendParams& p) {
  const int64_t last_slot = *std::max_element(p.slot_mapping, p.slot_mapping + p.n);
  const size_t bytes = cache_bytes(p.kv, last_slot / p.kv.block_size + 1);
  const Copy k_cache(device, p.kv.k, bytes);
  const Copy v_cache(device, p.kv.v, bytes);
  const Copy k(device, p.k, p.n * p.kv.n_kv_heads * p.kv.head_dim);
  const Copy v(device, p.v, p.n * p.kv.n_kv_heads * p.kv.head_dim);
  forward(device, {.n_tokens = p.n, .slot_mapping = p.slot_mapping}, [&](const BatchView& batch) {
    device.kv_append({k.floats({p.n, p.kv.n_kv_heads, p.kv.head_dim}),
                      v.floats({p.n, p.kv.n_kv_heads, p.kv.head_dim}), with_memory(p.kv, k_cache, v_cache),
                      batch});
  });
  k_cache.back_to(p.kv.k);
  v_cache.back_to(p.kv.v);
}

void attention(Backend& device, const kernels::AttentionParams& p) {
  const int64_t n = p.cu_seqlens_q[p.n_seqs];
  const size_t bytes = cache_bytes(p.kv, rows_for(p.block_tables, p.n_seqs * p.max_blocks));
  const Copy k_cache(device, p.kv.k, bytes);
  const Copy v_cache(device, p.kv.v, bytes);
  const Copy q(device, p.q, n * p.n_heads * p.kv.head_dim);
  const Copy y(device, p.y, n * p.n_heads * p.kv.head_dim);
  const BatchView host = {.n_tokens = n,
                          .n_seqs = p.n_seqs,
                          .max_blocks = p.max_blocks,
                          .cu_seqlens_q = p.cu_seqlens_q,
                          .context_lens = p.context_lens,
                          .block_tables = p.block_tables};
  forward(device, host, [&](const BatchView& batch) {
    device.attention({q.floats({n, p.n_heads, p.kv.head_dim}), with_memory(p.kv, k_cache, v_cache), batch,
                      y.floats({n, p.n_heads, p.kv.head_dim}), p.scale, p.window});
  });
  y.back_to(p.y);
}

void add(Backend& device, const kernels::AddParams& p) {
  const Copy x(device, p.x, p.n);
  const Copy y(device, p.y, p.n);
  forward(device, {}, [&](const BatchView&) { device.add({x.floats({p.n}), y.floats({p.n})}); });
  x.back_to(p.x);
}

void act_mul(Backend& device, const kernels::ActMulParams& p) {
  const Copy gate(device, p.gate, p.n);
  const Copy up(device, p.up, p.n);
  const Copy apart(device, p.y, p.n);
  const Copy& y = p.y == p.gate ? gate : apart;
  forward(device, {}, [&](const BatchView&) {
    device.act_mul({gate.floats({p.n}), up.floats({p.n}), y.floats({p.n}), p.activation});
  });
  y.back_to(p.y);
}

void gather_rows(Backend& device, const kernels::GatherRowsParams& p) {
  const Copy x(device, p.x, rows_for(p.ids, p.n) * p.dim);
  const Copy y(device, p.y, p.n * p.dim);
  forward(device, {.n_logits = p.n, .logits_indices = p.ids}, [&](const BatchView& batch) {
    device.gather_rows({x.floats({p.n, p.dim}), batch.logits_indices, y.floats({p.n, p.dim})});
  });
  y.back_to(p.y);
}

void argmax(Backend& device, const kernels::ArgmaxParams& p) {
  const Copy x(device, p.x, p.n * p.dim);
  const Copy y(device, p.y, static_cast<size_t>(p.n) * sizeof *p.y);
  forward(device, {}, [&](const BatchView&) {
    device.argmax({x.floats({p.n, p.dim}), reinterpret_cast<kernels::Argmax*>(y.data())});
  });
  y.back_to(p.y);
}

OpSet op_set(std::string name, std::shared_ptr<Backend> device) {
  const auto on_device = [device](auto fn) { return [device, fn](const auto& p) { fn(*device, p); }; };
  return {std::move(name),
          on_device(embed),
          on_device(matmul),
          on_device(rms_norm),
          on_device(rope_table),
          on_device(rope),
          on_device(kv_append),
          on_device(attention),
          on_device(add),
          on_device(act_mul),
          on_device(gather_rows),
          on_device(argmax),
          1,
          1,
          in_positions,
          [](DType) { return 1e-13; },  // activations stay unquantized
          [](const kernels::KvLayerView&) { return kAttentionNmse; },
          {}};
}

}  // namespace

std::vector<OpSet> device_op_sets() {
  std::vector<OpSet> sets;
  if (auto device = backend::create_backend("cuda")) sets.push_back(op_set("cuda", std::move(*device)));
  return sets;
}

// That the tests above did not run on a device is worth a line among what was skipped.
TEST(DeviceOps, RunOnEveryDevice) {
  if (const auto device = backend::create_backend("cuda"); !device) GTEST_SKIP() << device.error().message;
}

// It checks itself what was read, and fails where that was not all.
TEST(DeviceOps, TheReadBandwidthIsThatOfAllBytes) {
  const auto device = backend::create_backend("cuda");
  if (!device) GTEST_SKIP() << device.error().message;
  const auto ceilings = (*device)->measure_ceilings_now({}, 0, {});
  EXPECT_TRUE(ceilings.ok()) << (ceilings.ok() ? "" : ceilings.error().message);
}

}  // namespace inferno::test
