// The steps of a decoder layer composed of primitives: what every backend has before it fuses anything, and
// the oracle of what it fuses.
#include "backend/backend.h"

namespace inferno::backend {
namespace {

const Weight kNoBias;

// The same rows seen as n * heads rows of head_dim.
Tensor per_head(const Tensor& t, int64_t head_dim) {
  Tensor view = t;
  view.n_dims = 2;
  view.shape = {t.n_elements() / head_dim, head_dim, 0, 0};
  return view;
}

}  // namespace

void Backend::do_qkv_step(const QkvArgs& a) {
  rms_norm({a.norm, a.x, a.normed, a.eps});
  matmul({a.wq, a.bq, a.normed, a.q});
  matmul({a.wk, a.bk, a.normed, a.k});
  matmul({a.wv, a.bv, a.normed, a.v});
  if (!a.q_norm.empty()) {
    const Tensor q = per_head(a.q, a.q_norm.cols);
    rms_norm({a.q_norm, q, q, a.eps});
  }
  if (!a.k_norm.empty()) {
    const Tensor k = per_head(a.k, a.k_norm.cols);
    rms_norm({a.k_norm, k, k, a.eps});
  }
  rope({a.q, a.cos_sin, a.rope_style});
  rope({a.k, a.cos_sin, a.rope_style});
  kv_append({a.k, a.v, a.kv, a.batch});
}

void Backend::do_attention_step(const AttentionArgs& a) {
  attention(a);
}

void Backend::do_out_proj_step(const OutProjArgs& a) {
  matmul({a.wo, a.bias, a.attended, a.scratch});
  if (!a.post_norm.empty()) rms_norm({a.post_norm, a.scratch, a.scratch, a.eps});
  add({a.x, a.scratch});
}

void Backend::do_mlp_step(const MlpArgs& a) {
  rms_norm({a.norm, a.x, a.normed, a.eps});
  matmul({a.w_gate, kNoBias, a.normed, a.gate});
  matmul({a.w_up, kNoBias, a.normed, a.up});
  act_mul({a.gate, a.up, a.gate, a.activation});
  matmul({a.w_down, kNoBias, a.gate, a.normed});
  if (!a.post_norm.empty()) rms_norm({a.post_norm, a.normed, a.normed, a.eps});
  add({a.x, a.normed});
}

void Backend::do_lm_head_step(const LmHeadArgs& a) {
  gather_rows({a.x, a.batch.logits_indices, a.rows});
  rms_norm({a.norm, a.rows, a.rows, a.eps});
  matmul({a.head, kNoBias, a.rows, a.logits});
  if (a.highest != nullptr) argmax({a.logits, a.highest});
}

}  // namespace inferno::backend
