#include "support/oracle_forward.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace inferno::test {
namespace {

using Row = std::vector<double>;
using Matrix = std::vector<Row>;

class Oracle {
 public:
  explicit Oracle(const gguf::File& file) : file_(file) {
    arch_ = std::string(*file.meta<std::string_view>("general.architecture"));
    gemma_ = arch_ == "gemma3";
    heads_ = size("attention.head_count");
    kv_heads_ = per_layer("attention.head_count_kv");
    head_dim_ = size("attention.key_length");
    rotary_ =
        file.find(arch_ + ".rope.dimension_count") != nullptr ? size("rope.dimension_count") : head_dim_;
    eps_ = *file.meta<float>(arch_ + ".attention.layer_norm_rms_epsilon");
    window_ =
        file.find(arch_ + ".attention.sliding_window") != nullptr ? size("attention.sliding_window") : 0;
    if (file.find(arch_ + ".attention.sliding_window_pattern") != nullptr) {
      windowed_ = *file.meta_array<bool>(arch_ + ".attention.sliding_window_pattern");
    }
  }

  Matrix logits(std::span<const int32_t> ids) {
    Matrix x;
    const Matrix embeddings = matrix("token_embd.weight");
    for (const int32_t id : ids) {
      Row row = embeddings[static_cast<size_t>(id)];
      if (gemma_) {
        for (double& v : row) v *= static_cast<float>(std::sqrt(static_cast<double>(row.size())));
      }
      x.push_back(row);
    }
    const size_t layers = size("block_count");
    for (size_t i = 0; i < layers; ++i) layer(x, i);
    const Matrix& head = has("output.weight") ? matrix("output.weight") : embeddings;
    Matrix result;
    for (const Row& row : x) result.push_back(times(head, norm(row, "output_norm.weight")));
    return result;
  }

 private:
  size_t size(const std::string& suffix) const { return *file_.meta<uint32_t>(arch_ + "." + suffix); }
  std::vector<uint32_t> per_layer(const std::string& suffix) const {
    const std::string key = arch_ + "." + suffix;
    if (file_.find(key)->type == gguf::ValueType::kArray) return *file_.meta_array<uint32_t>(key);
    return std::vector<uint32_t>(size("block_count"), *file_.meta<uint32_t>(key));
  }
  bool has(const std::string& name) const { return file_.find_tensor(name) != nullptr; }

  Row values(const std::string& name) const {
    const Tensor& t = file_.find_tensor(name)->tensor;
    return Row(t.as<const float>(), t.as<const float>() + t.n_elements());
  }

  Matrix matrix(const std::string& name) const {
    const Tensor& t = file_.find_tensor(name)->tensor;
    const Row flat = values(name);
    Matrix m;
    for (int64_t r = 0; r < t.rows(); ++r)
      m.emplace_back(flat.begin() + r * t.cols(), flat.begin() + (r + 1) * t.cols());
    return m;
  }

  static Row times(const Matrix& m, const Row& x) {
    Row y;
    for (const Row& row : m) {
      double sum = 0;
      for (size_t i = 0; i < x.size(); ++i) sum += row[i] * x[i];
      y.push_back(sum);
    }
    return y;
  }

  Row norm(const Row& x, const std::string& weight) const {
    const Row w = values(weight);
    Row y;
    for (size_t start = 0; start < x.size(); start += w.size()) {
      double squares = 0;
      for (size_t i = 0; i < w.size(); ++i) squares += x[start + i] * x[start + i];
      const double scale = 1.0 / std::sqrt(squares / static_cast<double>(w.size()) + eps_);
      for (size_t i = 0; i < w.size(); ++i) y.push_back(x[start + i] * scale * w[i]);
    }
    return y;
  }

  void rotate(Row& x, size_t position, bool local) const {
    const double theta = local ? 10000.0 : *file_.meta<float>(arch_ + ".rope.freq_base");
    const auto factor = file_.meta_optional<float>(arch_ + ".rope.scaling.factor");
    const double scale = local || !factor->has_value() ? 1.0 : **factor;
    const size_t half = rotary_ / 2;
    for (size_t start = 0; start < x.size(); start += head_dim_) {
      for (size_t i = 0; i < half; ++i) {
        double angle = static_cast<double>(position) / scale /
                       std::pow(theta, 2.0 * static_cast<double>(i) / static_cast<double>(rotary_));
        if (!local && has("rope_freqs.weight")) angle /= values("rope_freqs.weight")[i];
        const bool interleaved = arch_ == "llama";
        double& a = x[start + (interleaved ? 2 * i : i)];
        double& b = x[start + (interleaved ? 2 * i + 1 : i + half)];
        const double before = a;
        a = a * std::cos(angle) - b * std::sin(angle);
        b = before * std::sin(angle) + b * std::cos(angle);
      }
    }
  }

  Row project(const std::string& name, const Row& x) const {
    Row y = times(matrix(name + ".weight"), x);
    if (has(name + ".bias")) {
      const Row bias = values(name + ".bias");
      for (size_t i = 0; i < y.size(); ++i) y[i] += bias[i];
    }
    return y;
  }

  void layer(Matrix& x, size_t index) const {
    const std::string blk = "blk." + std::to_string(index) + ".";
    const bool windowed = windowed_.empty() ? !gemma_ || index % 6 < 5 : windowed_[index];
    const bool local = window_ > 0 && windowed;
    Matrix q, k, v;
    for (size_t p = 0; p < x.size(); ++p) {
      const Row h = norm(x[p], blk + "attn_norm.weight");
      q.push_back(project(blk + "attn_q", h));
      k.push_back(project(blk + "attn_k", h));
      v.push_back(project(blk + "attn_v", h));
      if (has(blk + "attn_q_norm.weight")) {
        q[p] = norm(q[p], blk + "attn_q_norm.weight");
        k[p] = norm(k[p], blk + "attn_k_norm.weight");
      }
      rotate(q[p], p, local && gemma_);
      rotate(k[p], p, local && gemma_);
    }
    for (size_t p = 0; p < x.size(); ++p) {
      Row out =
          project(blk + "attn_output", attend(q[p], k, v, p, heads_ / kv_heads_[index], local ? window_ : 0));
      if (has(blk + "post_attention_norm.weight")) out = norm(out, blk + "post_attention_norm.weight");
      for (size_t i = 0; i < out.size(); ++i) x[p][i] += out[i];

      const Row h = norm(x[p], blk + "ffn_norm.weight");
      Row gate = project(blk + "ffn_gate", h);
      const Row up = project(blk + "ffn_up", h);
      for (size_t i = 0; i < gate.size(); ++i) gate[i] = activate(gate[i]) * up[i];
      Row down = project(blk + "ffn_down", gate);
      if (has(blk + "post_ffw_norm.weight")) down = norm(down, blk + "post_ffw_norm.weight");
      for (size_t i = 0; i < down.size(); ++i) x[p][i] += down[i];
    }
  }

  double activate(double x) const {
    if (!gemma_) return x / (1.0 + std::exp(-x));
    return 0.5 * x * (1.0 + std::tanh(std::sqrt(2.0 / M_PI) * (x + 0.044715 * x * x * x)));
  }

  // `group` query heads share a key-value head.
  Row attend(const Row& q, const Matrix& k, const Matrix& v, size_t p, size_t group, size_t window) const {
    const size_t begin = window > 0 && p + 1 > window ? p + 1 - window : 0;
    Row out(heads_ * head_dim_, 0.0);
    for (size_t h = 0; h < heads_; ++h) {
      const size_t kv = h / group * head_dim_;
      Row scores;
      for (size_t t = begin; t <= p; ++t) {
        double dot = 0;
        for (size_t i = 0; i < head_dim_; ++i) dot += q[h * head_dim_ + i] * k[t][kv + i];
        scores.push_back(dot / std::sqrt(static_cast<double>(head_dim_)));
      }
      const double peak = *std::max_element(scores.begin(), scores.end());
      double sum = 0;
      for (double& s : scores) sum += s = std::exp(s - peak);
      for (size_t t = begin; t <= p; ++t) {
        for (size_t i = 0; i < head_dim_; ++i)
          out[h * head_dim_ + i] += scores[t - begin] / sum * v[t][kv + i];
      }
    }
    return out;
  }

  const gguf::File& file_;
  std::string arch_;
  bool gemma_ = false;
  size_t heads_ = 0, head_dim_ = 0, rotary_ = 0, window_ = 0;
  std::vector<uint32_t> kv_heads_;  // of each layer
  std::vector<bool> windowed_;      // of each layer, where the file says so
  double eps_ = 0;
};

}  // namespace

std::vector<float> oracle_logits(const gguf::File& file, std::span<const int32_t> ids) {
  std::vector<float> flat;
  for (const Row& row : Oracle(file).logits(ids)) {
    for (const double value : row) flat.push_back(static_cast<float>(value));
  }
  return flat;
}

}  // namespace inferno::test
