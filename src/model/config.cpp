#include "model/config.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace inferno::model {
namespace {

// Far above any real model, low enough that products of three fit in 64 bits.
constexpr int64_t kMaxDim = int64_t{1} << 20;
constexpr int64_t kMaxLayers = 1 << 12;
constexpr int64_t kMaxContext = int64_t{1} << 30;

// Reads the metadata keys of one architecture; errors name file, key, expected and found.
class Reader {
 public:
  Reader(const gguf::File& file, std::string_view arch) : file_(file), arch_(arch) {}

  const gguf::File& file() const { return file_; }
  std::string key(std::string_view suffix) const { return fmt::format("{}.{}", arch_, suffix); }

  Result<int64_t> size(std::string_view suffix, int64_t max) const {
    TRY_ASSIGN(const int64_t value, file_.meta<int64_t>(key(suffix)));
    TRY(in_range(suffix, value, 1, max));
    return value;
  }

  Result<int64_t> size_or(std::string_view suffix, int64_t max, int64_t fallback) const {
    if (file_.find(key(suffix)) == nullptr) return fallback;
    return size(suffix, max);
  }

  Result<double> positive_or(std::string_view suffix, double fallback) const {
    TRY_ASSIGN(const auto value, file_.meta_optional<double>(key(suffix)));
    if (!value) return fallback;
    if (!(*value > 0)) {
      return make_error(ErrorCode::kInvalidFile, "{}: {}: expected a number > 0, found {}", file_.path(), key(suffix),
                        *value);
    }
    return *value;
  }

  // One number for all layers, or an array with one for each.
  Result<std::vector<int64_t>> per_layer(std::string_view suffix, int64_t n_layers, int64_t max) const {
    const gguf::Value* value = file_.find(key(suffix));
    if (value == nullptr || value->type != gguf::ValueType::kArray) {
      TRY_ASSIGN(const int64_t one, size(suffix, max));
      return std::vector<int64_t>(static_cast<size_t>(n_layers), one);
    }
    TRY_ASSIGN(const std::vector<uint64_t> values, file_.meta_array<uint64_t>(key(suffix)));
    if (values.size() != static_cast<size_t>(n_layers)) {
      return make_error(ErrorCode::kInvalidFile, "{}: {}: expected {} elements, one per layer, found {}", file_.path(),
                        key(suffix), n_layers, values.size());
    }
    std::vector<int64_t> sizes;
    for (const uint64_t v : values) {
      const int64_t size = v > static_cast<uint64_t>(max) ? max + 1 : static_cast<int64_t>(v);
      TRY(in_range(suffix, size, 1, max));
      sizes.push_back(size);
    }
    return sizes;
  }

  Status in_range(std::string_view suffix, int64_t value, int64_t low, int64_t high) const {
    if (value >= low && value <= high) return {};
    return make_error(ErrorCode::kInvalidFile, "{}: {}: expected {} to {}, found {}", file_.path(), key(suffix), low,
                      high, value);
  }

 private:
  const gguf::File& file_;
  std::string_view arch_;
};

Result<const ArchRow*> read_arch(const gguf::File& file) {
  TRY_ASSIGN(const std::string_view name, file.meta<std::string_view>("general.architecture"));
  const ArchRow* arch = find_arch(name);
  if (arch == nullptr) {
    std::vector<std::string_view> known;
    for (const ArchRow& row : arch_table()) known.push_back(row.name);
    return make_error(ErrorCode::kInvalidFile, "{}: general.architecture: expected one of {}, found \"{}\"", file.path(),
                      fmt::join(known, ", "), escaped(name));
  }
  return arch;
}

// Heads, head size and MLP width of every layer.
Status read_layers(const Reader& reader, ModelConfig& config) {
  TRY_ASSIGN(const auto heads, reader.per_layer("attention.head_count", config.n_layers, kMaxDim));
  std::vector<int64_t> kv_heads = heads;
  if (reader.file().find(reader.key("attention.head_count_kv")) != nullptr) {
    TRY_ASSIGN(kv_heads, reader.per_layer("attention.head_count_kv", config.n_layers, kMaxDim));
  }
  TRY_ASSIGN(const auto hidden, reader.per_layer("feed_forward_length", config.n_layers, kMaxDim));
  config.layers.resize(static_cast<size_t>(config.n_layers));
  for (size_t i = 0; i < config.layers.size(); ++i) {
    if (heads[i] % kv_heads[i] != 0) {
      return make_error(ErrorCode::kInvalidFile,
                        "{}: {}: expected a divisor of the {} query heads, found {} key-value heads (layer {})",
                        reader.file().path(), reader.key("attention.head_count_kv"), heads[i], kv_heads[i], i);
    }
    config.layers[i] = {.n_heads = heads[i], .n_kv_heads = kv_heads[i], .hidden_dim = hidden[i]};
  }

  const int64_t n_heads = heads.front();
  const std::string length_key = reader.key("attention.key_length");
  if (reader.file().find(length_key) == nullptr && config.dim % n_heads != 0) {
    return make_error(ErrorCode::kInvalidFile, "{}: {} is absent and {} is not a multiple of {} heads",
                      reader.file().path(), length_key, config.dim, n_heads);
  }
  TRY_ASSIGN(config.head_dim,
             reader.size_or("attention.key_length", kMaxDim, std::max<int64_t>(1, config.dim / n_heads)));
  TRY_ASSIGN(const int64_t value_length, reader.size_or("attention.value_length", kMaxDim, config.head_dim));
  if (value_length != config.head_dim) {
    return make_error(ErrorCode::kInvalidFile, "{}: {}: expected {}, the length of keys, found {}", reader.file().path(),
                      reader.key("attention.value_length"), config.head_dim, value_length);
  }
  for (size_t i = 0; i < config.layers.size(); ++i) {
    if (config.layers[i].n_heads > kMaxDim / config.head_dim) {
      return make_error(ErrorCode::kInvalidFile, "{}: {} heads of {} exceed {} (layer {})", reader.file().path(),
                        config.layers[i].n_heads, config.head_dim, kMaxDim, i);
    }
  }
  return {};
}

// Which layers see a window, and which rope they use.
Status read_windows(const Reader& reader, ModelConfig& config) {
  const ArchRow& arch = *config.arch;
  TRY_ASSIGN(const int64_t window, reader.size_or("attention.sliding_window", kMaxContext, 0));
  TRY_ASSIGN(const int64_t period,
             reader.size_or("attention.sliding_window_pattern", kMaxLayers, arch.window_period));
  if (window == 0) return {};
  for (size_t i = 0; i < config.layers.size(); ++i) {
    const bool local = period == 0 || static_cast<int64_t>(i) % period < period - 1;
    if (!local) continue;
    config.layers[i].window = window;
    config.layers[i].rope = config.ropes.size() - 1;
  }
  return {};
}

Status read_ropes(const Reader& reader, ModelConfig& config) {
  const ArchRow& arch = *config.arch;
  TRY_ASSIGN(const int64_t rotary, reader.size_or("rope.dimension_count", kMaxDim, config.head_dim));
  if (rotary % 2 != 0 || rotary > config.head_dim) {
    return make_error(ErrorCode::kInvalidFile, "{}: {}: expected an even number up to the head size {}, found {}",
                      reader.file().path(), reader.key("rope.dimension_count"), config.head_dim, rotary);
  }
  config.n_rope_pairs = rotary / 2;

  RopeConfig global;
  TRY_ASSIGN(global.theta, reader.positive_or("rope.freq_base", 10000.0));
  TRY_ASSIGN(const auto scaling, reader.file().meta_optional<std::string_view>(reader.key("rope.scaling.type")));
  const std::string_view type = scaling.value_or("linear");
  if (type == "linear") {
    TRY_ASSIGN(global.scale, reader.positive_or("rope.scaling.factor", 1.0));
  } else if (type != "none") {
    return make_error(ErrorCode::kInvalidFile, "{}: {}: expected \"none\" or \"linear\", found \"{}\"",
                      reader.file().path(), reader.key("rope.scaling.type"), escaped(type));
  }
  config.ropes.push_back(global);
  if (arch.local_rope_theta > 0) {
    RopeConfig local;
    TRY_ASSIGN(local.theta, reader.positive_or("rope.freq_base_swa", arch.local_rope_theta));
    local.uses_freq_factors = false;
    config.ropes.push_back(local);
  }
  for (RopeConfig& rope : config.ropes) {
    for (int64_t i = 0; i < config.n_rope_pairs; ++i) {
      const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(rotary);
      rope.inv_freq.push_back(std::pow(rope.theta, exponent) / rope.scale);
    }
  }
  return {};
}

Status refuse_experts(const Reader& reader) {
  TRY_ASSIGN(const auto experts, reader.file().meta_optional<uint64_t>(reader.key("expert_count")));
  if (experts.value_or(0) == 0) return {};
  return make_error(ErrorCode::kInvalidFile, "{}: {}: mixture-of-experts models are not supported, found {} experts",
                    reader.file().path(), reader.key("expert_count"), *experts);
}

// The largest of one field over the layers.
int64_t largest(const std::vector<LayerConfig>& layers, int64_t LayerConfig::*field) {
  int64_t value = 0;
  for (const LayerConfig& layer : layers) value = std::max(value, layer.*field);
  return value;
}

}  // namespace

Result<ModelConfig> read_config(const gguf::File& file) {
  ModelConfig config;
  TRY_ASSIGN(config.arch, read_arch(file));
  const Reader reader(file, config.arch->name);
  TRY(refuse_experts(reader));
  TRY_ASSIGN(const auto model_name, file.meta_optional<std::string_view>("general.name"));
  config.name = model_name.value_or("unnamed");
  TRY_ASSIGN(config.n_layers, reader.size("block_count", kMaxLayers));
  TRY_ASSIGN(config.dim, reader.size("embedding_length", kMaxDim));
  TRY_ASSIGN(config.context_length, reader.size("context_length", kMaxContext));
  TRY_ASSIGN(const double eps, reader.positive_or("attention.layer_norm_rms_epsilon", 0));
  if (eps == 0) {
    return make_error(ErrorCode::kInvalidFile, "{}: {} is missing", file.path(),
                      reader.key("attention.layer_norm_rms_epsilon"));
  }
  config.norm_eps = static_cast<float>(eps);
  TRY(read_layers(reader, config));
  TRY(read_ropes(reader, config));
  TRY(read_windows(reader, config));

  TRY_ASSIGN(const gguf::StringRange tokens, file.meta_strings("tokenizer.ggml.tokens"));
  config.vocab_size = static_cast<int64_t>(tokens.size());
  TRY_ASSIGN(const int64_t vocab, reader.size_or("vocab_size", INT32_MAX, config.vocab_size));
  if (vocab != config.vocab_size) {
    return make_error(ErrorCode::kInvalidFile, "{}: {}: expected {}, the number of tokenizer.ggml.tokens, found {}",
                      file.path(), reader.key("vocab_size"), config.vocab_size, vocab);
  }

  const bool by_dim = config.n_layers == config.arch->query_scale_by_dim_layers;
  const double query_size = by_dim ? static_cast<double>(config.dim) / static_cast<double>(config.layers[0].n_heads)
                                   : static_cast<double>(config.head_dim);
  config.attention_scale = static_cast<float>(1.0 / std::sqrt(query_size));
  if (config.arch->scales_embedding) {
    config.embedding_scale = static_cast<float>(std::sqrt(static_cast<double>(config.dim)));
  }
  return config;
}

int64_t ModelConfig::max_heads() const {
  return largest(layers, &LayerConfig::n_heads);
}
int64_t ModelConfig::max_kv_heads() const {
  return largest(layers, &LayerConfig::n_kv_heads);
}
int64_t ModelConfig::max_hidden_dim() const {
  return largest(layers, &LayerConfig::hidden_dim);
}

}  // namespace inferno::model
