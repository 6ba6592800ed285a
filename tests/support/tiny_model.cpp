#include "support/tiny_model.h"

#include <cmath>
#include <numeric>

#include "base/check.h"
#include "tensor/half.h"

namespace inferno::test {
namespace {

// SplitMix64: the same numbers on every machine.
uint64_t next(uint64_t& state) {
  state += 0x9e3779b97f4a7c15u;
  uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// The byte-level alphabet of GPT-2: printable Latin-1 stands for itself, the other bytes for code points from
// 256 on.
std::vector<std::string> byte_alphabet() {
  std::vector<std::string> alphabet(256);
  uint32_t other = 256;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    const bool plain = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    const uint32_t code = plain ? byte : other++;
    std::string& text = alphabet[byte];
    if (code < 0x80) {
      text = static_cast<char>(code);
    } else {
      text = {static_cast<char>(0xc0 | (code >> 6)), static_cast<char>(0x80 | (code & 0x3f))};
    }
  }
  return alphabet;
}

template <class To, class Convert>
std::vector<std::byte> converted(const std::vector<float>& values, Convert&& convert) {
  std::vector<To> result;
  for (const float value : values) result.push_back(convert(value));
  const auto bytes = std::as_bytes(std::span(result));
  return {bytes.begin(), bytes.end()};
}

std::vector<std::byte> encode(const TinyModel::TensorData& tensor) {
  if (tensor.dtype == DType::kF32) return converted<float>(tensor.values, [](float v) { return v; });
  if (tensor.dtype == DType::kF16) return converted<uint16_t>(tensor.values, f32_to_f16);
  CHECK(tensor.dtype == DType::kI32, "no {} in tiny models", name(tensor.dtype));
  return converted<int32_t>(tensor.values, [](float v) { return static_cast<int32_t>(v); });
}

}  // namespace

TinyModel::TinyModel(const TinySpec& spec) : state_(spec.seed) {
  const std::string& arch = spec.arch;
  set("general.architecture", arch);
  set("general.name", std::string("tiny"));
  set(arch + ".block_count", spec.n_layers);
  set(arch + ".context_length", spec.context_length);
  set(arch + ".embedding_length", spec.dim);
  set(arch + ".feed_forward_length", spec.hidden_dim);
  set(arch + ".attention.head_count", spec.n_heads);
  set(arch + ".attention.head_count_kv", spec.n_kv_heads);
  set(arch + ".attention.key_length", spec.head_dim);
  set(arch + ".attention.value_length", spec.head_dim);
  set(arch + ".attention.layer_norm_rms_epsilon", 1e-5f);
  set(arch + ".rope.freq_base", spec.rope_theta);
  if (spec.rope_scale != 1.0f) {
    set(arch + ".rope.scaling.type", std::string("linear"));
    set(arch + ".rope.scaling.factor", spec.rope_scale);
  }
  if (spec.window > 0) set(arch + ".attention.sliding_window", spec.window);

  std::vector<std::string> tokens = byte_alphabet();
  std::vector<int32_t> types(256, 1);
  tokens.insert(tokens.end(), {"<|end|>", "<|start|>"});
  types.insert(types.end(), {3, 3});
  while (tokens.size() < spec.vocab_size) {
    tokens.push_back("<|unused" + std::to_string(tokens.size()) + "|>");
    types.push_back(5);
  }
  set("tokenizer.ggml.model", std::string("gpt2"));
  set("tokenizer.ggml.pre", std::string("gpt-2"));
  set_array("tokenizer.ggml.tokens", tokens);
  set_array("tokenizer.ggml.token_type", types);
  set_array("tokenizer.ggml.merges", std::vector<std::string>{});
  set("tokenizer.ggml.eos_token_id", uint32_t{256});
  set("tokenizer.ggml.bos_token_id", uint32_t{257});

  const int64_t dim = spec.dim;
  const int64_t q_dim = int64_t{spec.n_heads} * spec.head_dim;
  const int64_t kv_dim = int64_t{spec.n_kv_heads} * spec.head_dim;
  const int64_t hidden = spec.hidden_dim;
  const auto matrix = [&](const std::string& name, int64_t rows, int64_t cols) {
    add_tensor(name, {rows, cols}, 1.0 / std::sqrt(static_cast<double>(cols)));
  };
  const auto norm = [&](const std::string& name, int64_t size) { add_tensor(name, {size}, 0.2, 1.0); };
  add_tensor("token_embd.weight", {spec.vocab_size, dim}, 1.0);
  norm("output_norm.weight", dim);
  if (!spec.tied) matrix("output.weight", spec.vocab_size, dim);
  if (spec.rope_freqs) add_tensor("rope_freqs.weight", {spec.head_dim / 2}, 0.4, 2.0);
  for (uint32_t i = 0; i < spec.n_layers; ++i) {
    const std::string blk = "blk." + std::to_string(i) + ".";
    norm(blk + "attn_norm.weight", dim);
    matrix(blk + "attn_q.weight", q_dim, dim);
    matrix(blk + "attn_k.weight", kv_dim, dim);
    matrix(blk + "attn_v.weight", kv_dim, dim);
    matrix(blk + "attn_output.weight", dim, q_dim);
    if (arch == "qwen2") {
      add_tensor(blk + "attn_q.bias", {q_dim}, 0.5);
      add_tensor(blk + "attn_k.bias", {kv_dim}, 0.5);
      add_tensor(blk + "attn_v.bias", {kv_dim}, 0.5);
    }
    if (arch == "qwen3" || arch == "gemma3") {
      norm(blk + "attn_q_norm.weight", spec.head_dim);
      norm(blk + "attn_k_norm.weight", spec.head_dim);
    }
    norm(blk + "ffn_norm.weight", dim);
    matrix(blk + "ffn_gate.weight", hidden, dim);
    matrix(blk + "ffn_up.weight", hidden, dim);
    matrix(blk + "ffn_down.weight", dim, hidden);
    if (arch == "gemma3") {
      norm(blk + "post_attention_norm.weight", dim);
      norm(blk + "post_ffw_norm.weight", dim);
    }
  }
}

void TinyModel::add_tensor(const std::string& name, std::vector<int64_t> shape, double spread, double mean) {
  TensorData data{std::move(shape), {}, DType::kF32};
  const int64_t n = std::accumulate(data.shape.begin(), data.shape.end(), int64_t{1}, std::multiplies<>());
  for (int64_t i = 0; i < n; ++i) {
    // Uniform with the variance of `spread`.
    const double uniform = static_cast<double>(next(state_) >> 11) * 0x1p-53 * 2 - 1;
    data.values.push_back(static_cast<float>(mean + spread * std::sqrt(3.0) * uniform));
  }
  tensors[name] = std::move(data);
}

void TinyModel::set_bools(const std::string& key, std::vector<bool> values) {
  std::vector<std::byte> payload;
  for (const bool value : values) payload.push_back(std::byte{value});
  metadata[key] = [payload](gguf::Writer& writer, const std::string& k) {
    writer.add(k, gguf::Value{gguf::ValueType::kArray, gguf::ValueType::kBool, payload.size(), payload, 0});
  };
}

std::vector<std::byte> TinyModel::bytes() const {
  gguf::Writer writer;
  for (const auto& [key, add] : metadata) add(writer, key);
  std::vector<std::vector<std::byte>> stored;  // what the writer reads from until the end
  for (const auto& [name, tensor] : tensors) {
    stored.push_back(encode(tensor));
    writer.add_tensor(name, tensor.dtype, tensor.shape, stored.back());
  }
  return writer.bytes();
}

std::vector<int32_t> random_ids(size_t n, uint32_t vocab_size, uint64_t seed) {
  std::vector<int32_t> ids;
  for (size_t i = 0; i < n; ++i) ids.push_back(static_cast<int32_t>(next(seed) % vocab_size));
  return ids;
}

}  // namespace inferno::test
