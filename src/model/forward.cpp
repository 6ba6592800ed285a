// The forward pass of every family: what differs is data (config, which weights are present).
#include "base/check.h"
#include "metrics/telemetry.h"
#include "model/model.h"

namespace inferno::model {
namespace {

Tensor shaped(const Tensor& storage, std::initializer_list<int64_t> shape) {
  Tensor view = storage;
  view.n_dims = static_cast<int>(shape.size());
  view.shape = {};
  std::copy(shape.begin(), shape.end(), view.shape.begin());
  return view;
}

}  // namespace

Result<Logits> Model::forward(const Batch& batch, kv::KvCache& cache, const CancelFn& cancelled) {
  const telemetry::ScopedCounter counter("model::Forward");
  const int64_t n = batch.n_tokens();
  CHECK(n > 0 && n <= max_batch(), "a batch of {} tokens", n);
  TRY(reserve_workspace(n, static_cast<int64_t>(batch.logits_indices.size())));
  backend::Backend& b = *backend_;
  const ModelConfig& c = config_;
  Workspace& s = workspace_;
  const backend::BatchView view = b.begin_forward(batch.view());

  const Tensor x = shaped(s.x, {n, c.dim});
  const Tensor normed = shaped(s.normed, {n, c.dim});
  b.embed({weights_.token_embd, view, x, c.embedding_scale});
  std::vector<Tensor> cos_sin;
  for (size_t i = 0; i < c.ropes.size(); ++i) {
    cos_sin.push_back(shaped(s.cos_sin[i], {n, c.n_rope_pairs, 2}));
    b.rope_table({view, c.ropes[i].inv_freq.data(), cos_sin[i]});
  }
  for (size_t i = 0; i < c.layers.size(); ++i) {
    if (cancelled && cancelled()) {
      TRY(b.end_forward());
      return Error{ErrorCode::kCancelled, "cancelled"};
    }
    const LayerConfig& layer = c.layers[i];
    const LayerWeights& w = weights_.layers[i];
    const kernels::KvLayerView kv = cache.layer(static_cast<int64_t>(i));
    const Tensor q = shaped(s.q, {n, layer.n_heads, c.head_dim});
    const Tensor k = shaped(s.k, {n, layer.n_kv_heads, c.head_dim});
    const Tensor v = shaped(s.v, {n, layer.n_kv_heads, c.head_dim});
    const Tensor attended = shaped(s.attended, {n, layer.n_heads, c.head_dim});
    const Tensor gate = shaped(s.gate, {n, layer.hidden_dim});
    const Tensor up = shaped(s.up, {n, layer.hidden_dim});
    b.qkv_step({x, w.attn_norm, c.norm_eps, w.attn_q, w.attn_k, w.attn_v, w.attn_q_bias, w.attn_k_bias,
                w.attn_v_bias, w.attn_q_norm, w.attn_k_norm, cos_sin[layer.rope], c.arch->rope_style, kv,
                view, q, normed, k, v});
    b.attention_step({q, kv, view, attended, c.attention_scale, layer.window});
    b.out_proj_step(
        {attended, w.attn_output, w.attn_output_bias, w.post_attention_norm, c.norm_eps, x, normed});
    b.mlp_step({w.ffn_norm, c.norm_eps, w.ffn_gate, w.ffn_up, w.ffn_down, w.post_ffw_norm, c.arch->activation,
                x, normed, gate, up});
  }
  Logits logits;
  if (view.n_logits > 0) {
    logits.values = shaped(s.logits, {view.n_logits, c.vocab_size});
    auto* const highest = batch.highest_only ? static_cast<backend::Argmax*>(s.highest.data()) : nullptr;
    logits.highest = highest;
    b.lm_head_step({x, view, weights_.output_norm, c.norm_eps, weights_.output,
                    shaped(s.rows, {view.n_logits, c.dim}), logits.values, batch.highest_only, highest});
  }
  TRY(b.end_forward());
  return logits;
}

}  // namespace inferno::model
