#include "model/synthetic_tensors.h"

#include <fmt/core.h>

#include <functional>
#include <numeric>

#include "base/check.h"
#include "model/arch_table.h"

namespace inferno::model {
namespace {

void add_layer(const Preset& p, const ArchRow& arch, int64_t index, std::vector<SyntheticTensor>& tensors) {
  const int64_t q_dim = p.n_heads * p.head_dim;
  const int64_t kv_dim = p.n_kv_heads * p.head_dim;
  const auto add = [&](std::string_view suffix, std::vector<int64_t> shape, Draw draw) {
    tensors.push_back({fmt::format("blk.{}.{}", index, suffix), std::move(shape), draw});
  };
  add("attn_norm.weight", {p.dim}, Draw::kNorm);
  add("attn_q.weight", {q_dim, p.dim}, Draw::kMatrix);
  add("attn_k.weight", {kv_dim, p.dim}, Draw::kMatrix);
  add("attn_v.weight", {kv_dim, p.dim}, Draw::kMatrix);
  if (arch.qkv_bias == Presence::kAlways) {
    add("attn_q.bias", {q_dim}, Draw::kBias);
    add("attn_k.bias", {kv_dim}, Draw::kBias);
    add("attn_v.bias", {kv_dim}, Draw::kBias);
  }
  if (arch.qk_norm == Presence::kAlways) {
    add("attn_q_norm.weight", {p.head_dim}, Draw::kNorm);
    add("attn_k_norm.weight", {p.head_dim}, Draw::kNorm);
  }
  add("attn_output.weight", {p.dim, q_dim}, Draw::kMatrix);
  if (arch.out_bias == Presence::kAlways) add("attn_output.bias", {p.dim}, Draw::kBias);
  if (arch.post_norms == Presence::kAlways) add("post_attention_norm.weight", {p.dim}, Draw::kNorm);
  add("ffn_norm.weight", {p.dim}, Draw::kNorm);
  add("ffn_gate.weight", {p.hidden_dim, p.dim}, Draw::kMatrix);
  add("ffn_up.weight", {p.hidden_dim, p.dim}, Draw::kMatrix);
  add("ffn_down.weight", {p.dim, p.hidden_dim}, Draw::kMatrix);
  if (arch.post_norms == Presence::kAlways) add("post_ffw_norm.weight", {p.dim}, Draw::kNorm);
}

}  // namespace

int64_t SyntheticTensor::n_elements() const {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

std::vector<SyntheticTensor> synthetic_tensors(const Preset& preset) {
  const ArchRow* arch = find_arch(preset.arch);
  CHECK(arch != nullptr, "preset {} is of an unknown architecture \"{}\"", preset.name, preset.arch);
  std::vector<SyntheticTensor> tensors;
  tensors.push_back({"token_embd.weight", {preset.vocab_size, preset.dim}, Draw::kMatrix});
  tensors.push_back({"output_norm.weight", {preset.dim}, Draw::kOutputNorm});
  if (!preset.tied) tensors.push_back({"output.weight", {preset.vocab_size, preset.dim}, Draw::kMatrix});
  if (preset.rope_factors.factor > 0) {
    tensors.push_back({"rope_freqs.weight", {preset.head_dim / 2}, Draw::kRopeFactor});
  }
  for (int64_t i = 0; i < preset.n_layers; ++i) add_layer(preset, *arch, i, tensors);
  return tensors;
}

int64_t parameter_count(const Preset& preset) {
  int64_t sum = 0;
  for (const SyntheticTensor& tensor : synthetic_tensors(preset)) {
    if (tensor.draw != Draw::kRopeFactor) sum += tensor.n_elements();
  }
  return sum;
}

}  // namespace inferno::model
