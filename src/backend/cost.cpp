#include "backend/cost.h"

#include <algorithm>

namespace inferno::backend {
namespace {

using metrics::Cost;

uint64_t u64(int64_t value) {
  return static_cast<uint64_t>(value);
}

uint64_t elements(const Tensor& t) {
  return u64(t.n_elements());
}

// Reading some tensors and writing others, plus `flops` operations.
Cost moves(std::initializer_list<const Tensor*> tensors, uint64_t flops) {
  Cost cost;
  for (const Tensor* tensor : tensors) cost.activation_bytes += tensor->bytes();
  cost.flops = flops;
  return cost;
}

uint64_t vector_bytes(const Weight& w) {
  return w.empty() ? 0 : w.bytes();
}

// One position of one layer, keys and values.
uint64_t kv_bytes_per_position(const KvLayerView& kv) {
  return 2 * row_bytes(kv.dtype, static_cast<size_t>(kv.n_kv_heads * kv.head_dim));
}

constexpr uint64_t kNormFlops = 4;  // square, sum, scale, weight: per element
constexpr uint64_t kRopeFlops = 3;  // four products and two sums per pair
constexpr uint64_t kActFlops = 6;   // an exponential counted as one

}  // namespace

Cost product_cost(const Weight& w, int64_t n) {
  Cost cost;
  cost.weight_bytes = w.read_bytes();
  cost.spared_bytes = w.bytes() - w.read_bytes();
  cost.flops = 2 * u64(n) * u64(w.rows) * u64(w.cols);
  return cost;
}

Cost cost(const EmbedArgs& a, const BatchView&) {
  Cost cost = moves({&a.y}, elements(a.y));
  cost.weight_bytes = u64(a.y.rows()) * row_bytes(a.table.dtype, static_cast<size_t>(a.table.cols));
  return cost;
}

Cost cost(const MatmulArgs& a, const BatchView&) {
  // A row of x may have several dimensions (heads).
  Cost cost = product_cost(a.w, a.x.n_elements() / a.w.cols);
  cost.weight_bytes += vector_bytes(a.bias);
  cost.activation_bytes = a.x.bytes() + a.y.bytes();
  return cost;
}

Cost cost(const RmsNormArgs& a, const BatchView&) {
  Cost cost = moves({&a.x, &a.y}, kNormFlops * elements(a.x));
  cost.weight_bytes = a.w.bytes();
  return cost;
}

Cost cost(const RopeTableArgs& a, const BatchView&) {
  return moves({&a.cos_sin}, elements(a.cos_sin));
}

Cost cost(const RopeArgs& a, const BatchView&) {
  return moves({&a.x, &a.x, &a.cos_sin}, kRopeFlops * elements(a.x));
}

Cost cost(const KvAppendArgs& a, const BatchView& batch) {
  Cost cost = moves({&a.k, &a.v}, 0);
  cost.kv_bytes = u64(batch.n_tokens) * kv_bytes_per_position(a.kv);
  return cost;
}

Cost cost(const AttentionArgs& a, const BatchView& batch) {
  Cost cost = moves({&a.q, &a.y}, 0);
  uint64_t read = 0;   // positions, each once per sequence
  uint64_t pairs = 0;  // (query, position) pairs
  for (int64_t s = 0; s < batch.n_seqs; ++s) {
    const int64_t context = batch.context_lens[s];
    const int64_t queries = batch.cu_seqlens_q[s + 1] - batch.cu_seqlens_q[s];
    const int64_t first = context - queries;  // the first query's position
    const int64_t begin = a.window > 0 ? std::max<int64_t>(0, first - a.window + 1) : 0;
    read += u64(context - begin);
    for (int64_t p = first; p < context; ++p) {
      pairs += u64(a.window > 0 ? std::min(p + 1, a.window) : p + 1);
    }
  }
  cost.kv_bytes = read * kv_bytes_per_position(a.kv);
  // q.k and p.v: a product and a sum each, per query head and dimension.
  cost.attention_flops = 4 * pairs * u64(a.q.n_elements() / std::max<int64_t>(1, batch.n_tokens));
  cost.flops = cost.attention_flops;
  return cost;
}

Cost cost(const AddArgs& a, const BatchView&) {
  return moves({&a.x, &a.x, &a.y}, elements(a.x));
}

Cost cost(const ActMulArgs& a, const BatchView&) {
  return moves({&a.gate, &a.up, &a.y}, kActFlops * elements(a.y));
}

Cost cost(const GatherRowsArgs& a, const BatchView&) {
  return moves({&a.y, &a.y}, 0);
}

Cost cost(const ArgmaxArgs& a, const BatchView&) {
  return moves({&a.x}, elements(a.x));
}

Cost cost(const QkvArgs& a, const BatchView& batch) {
  const int64_t n = batch.n_tokens;
  Cost cost = moves({&a.x, &a.q}, kNormFlops * elements(a.x) + kRopeFlops * (elements(a.q) + elements(a.k)));
  cost += product_cost(a.wq, n);
  cost += product_cost(a.wk, n);
  cost += product_cost(a.wv, n);
  for (const Weight* vector : {&a.norm, &a.bq, &a.bk, &a.bv, &a.q_norm, &a.k_norm}) {
    cost.weight_bytes += vector_bytes(*vector);
  }
  cost.kv_bytes = u64(n) * kv_bytes_per_position(a.kv);
  return cost;
}

Cost cost(const OutProjArgs& a, const BatchView& batch) {
  Cost cost = moves({&a.attended, &a.x, &a.x}, elements(a.x));
  cost += product_cost(a.wo, batch.n_tokens);
  cost.weight_bytes += vector_bytes(a.bias) + vector_bytes(a.post_norm);
  return cost;
}

Cost cost(const MlpArgs& a, const BatchView& batch) {
  const int64_t n = batch.n_tokens;
  Cost cost = moves({&a.x, &a.x}, (kNormFlops + 1) * elements(a.x) + kActFlops * elements(a.gate));
  cost += product_cost(a.w_gate, n);
  cost += product_cost(a.w_up, n);
  cost += product_cost(a.w_down, n);
  cost.weight_bytes += vector_bytes(a.norm) + vector_bytes(a.post_norm);
  return cost;
}

Cost cost(const LmHeadArgs& a, const BatchView& batch) {
  Cost cost = moves({&a.rows, &a.logits}, kNormFlops * elements(a.rows));
  cost += product_cost(a.head, batch.n_logits);
  cost.weight_bytes += a.norm.bytes();
  return cost;
}

}  // namespace inferno::backend
