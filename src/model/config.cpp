#include "model/config.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "model/arch_metadata.h"

namespace inferno::model {
namespace {

// Far above any real model, low enough that products of three fit in 64 bits.
constexpr int64_t kMaxDim = int64_t{1} << 20;
constexpr int64_t kMaxLayers = 1 << 12;
constexpr int64_t kMaxContext = int64_t{1} << 30;
// Wide enough for any real model, narrow enough that no frequency overflows and no variance of zero divides.
constexpr double kMinRopeBase = 1, kMaxRopeBase = 1e15;
constexpr double kMinRopeScale = 1e-3, kMaxRopeScale = 1e6;
constexpr double kMinNormEps = 1e-20, kMaxNormEps = 1;

Result<const ArchRow*> read_arch(const gguf::File& file) {
  TRY_ASSIGN(const std::string_view name, file.meta<std::string_view>("general.architecture"));
  const ArchRow* arch = find_arch(name);
  if (arch == nullptr) {
    std::vector<std::string_view> known;
    for (const ArchRow& row : arch_table()) known.push_back(row.name);
    return make_error(
        ErrorCode::kInvalidFile,
        "{}: at byte {}: metadata key \"general.architecture\": expected one of {}, found \"{}\"",
        escaped(file.path(), 4096), file.find("general.architecture")->offset, join(known, ", "),
        escaped(name));
  }
  return arch;
}

// Keys that would change what is computed and that no family here has.
Status refuse_unsupported(const ArchMetadata& metadata) {
  TRY_ASSIGN(const auto experts, metadata.file().meta_optional<uint64_t>(metadata.key("expert_count")));
  if (experts.value_or(0) != 0) {
    return metadata.refuse("expert_count", "0 (mixture-of-experts models are not supported)",
                           std::to_string(*experts));
  }
  TRY_ASSIGN(const auto causal, metadata.file().meta_optional<bool>(metadata.key("attention.causal")));
  if (!causal.value_or(true))
    return metadata.refuse("attention.causal", "true (a model that generates)", "false");
  if (metadata.has("rope.dimension_sections")) {
    return metadata.refuse("rope.dimension_sections", "no such key (positions have one dimension here)",
                           "it");
  }
  for (const auto& [suffix, neutral] :
       {std::pair{"attn_logit_softcapping", 0.0}, std::pair{"final_logit_softcapping", 0.0},
        std::pair{"attention.max_alibi_bias", 0.0}, std::pair{"attention.clamp_kqv", 0.0},
        std::pair{"rope.scaling.attn_factor", 1.0}}) {
    TRY_ASSIGN(const auto value, metadata.file().meta_optional<double>(metadata.key(suffix)));
    if (value.value_or(neutral) != neutral) {
      return metadata.refuse(suffix, fmt::format("{} (no other is supported)", neutral),
                             fmt::format("{}", *value));
    }
  }
  return {};
}

// Heads and MLP width of every layer.
Status read_layers(const ArchMetadata& metadata, ModelConfig& config) {
  constexpr const char* kHeads = "attention.head_count";
  constexpr const char* kKvHeads = "attention.head_count_kv";
  TRY_ASSIGN(const auto heads, metadata.size_per_layer(kHeads, config.n_layers, kMaxDim));
  std::vector<int64_t> kv_heads = heads;
  if (metadata.has(kKvHeads)) {
    TRY_ASSIGN(kv_heads, metadata.size_per_layer(kKvHeads, config.n_layers, kMaxDim));
  }
  TRY_ASSIGN(const auto hidden, metadata.size_per_layer("feed_forward_length", config.n_layers, kMaxDim));
  for (size_t i = 0; i < heads.size(); ++i) {
    if (heads[i] % kv_heads[i] != 0) {
      return metadata.refuse(kKvHeads,
                             fmt::format("a divisor of the {} query heads of layer {}", heads[i], i),
                             std::to_string(kv_heads[i]));
    }
    config.layers.push_back({.n_heads = heads[i], .n_kv_heads = kv_heads[i], .hidden_dim = hidden[i]});
  }
  return {};
}

// The size of a head, which is dim / heads unless metadata says otherwise.
Status read_head_dim(const ArchMetadata& metadata, ModelConfig& config) {
  const int64_t n_heads = config.layers.front().n_heads;
  if (!metadata.has("attention.key_length") && config.dim % n_heads != 0) {
    return metadata.refuse("embedding_length",
                           fmt::format("a multiple of {} heads, as attention.key_length is missing", n_heads),
                           std::to_string(config.dim));
  }
  TRY_ASSIGN(config.head_dim, metadata.size_or("attention.key_length", kMaxDim, config.dim / n_heads));
  TRY_ASSIGN(const int64_t value_length,
             metadata.size_or("attention.value_length", kMaxDim, config.head_dim));
  if (value_length != config.head_dim) {
    return metadata.refuse("attention.value_length", fmt::format("{}, the length of keys", config.head_dim),
                           std::to_string(value_length));
  }
  const int64_t max_heads = kMaxDim / config.head_dim;
  if (config.max_heads() > max_heads) {
    return metadata.refuse("attention.head_count",
                           fmt::format("1 to {} heads of {}", max_heads, config.head_dim),
                           std::to_string(config.max_heads()));
  }
  return {};
}

// What the frequencies are divided by: rope.scaling, or the key of older files.
Result<double> read_rope_scale(const ArchMetadata& metadata) {
  constexpr const char* kType = "rope.scaling.type";
  TRY_ASSIGN(const auto found, metadata.file().meta_optional<std::string_view>(metadata.key(kType)));
  const std::string_view type = found.value_or("linear");
  if (type == "none") return 1.0;
  if (type != "linear") {
    return metadata.refuse(kType, "\"none\" or \"linear\"", fmt::format("\"{}\"", escaped(type)));
  }
  TRY_ASSIGN(const double older, metadata.number_or("rope.scale_linear", kMinRopeScale, kMaxRopeScale, 1.0));
  return metadata.number_or("rope.scaling.factor", kMinRopeScale, kMaxRopeScale, older);
}

Status read_ropes(const ArchMetadata& metadata, ModelConfig& config) {
  const ArchRow& arch = *config.arch;
  TRY_ASSIGN(const int64_t rotary, metadata.size_or("rope.dimension_count", kMaxDim, config.head_dim));
  if (rotary % 2 != 0 || rotary > config.head_dim) {
    return metadata.refuse("rope.dimension_count",
                           fmt::format("an even number up to the head size {}", config.head_dim),
                           std::to_string(rotary));
  }
  config.n_rope_pairs = rotary / 2;

  // Some converters name the two bases rope.global and rope.local.
  RopeConfig global;
  TRY_ASSIGN(global.theta, metadata.number_or("rope.global.freq_base", kMinRopeBase, kMaxRopeBase, 10000.0));
  TRY_ASSIGN(global.theta, metadata.number_or("rope.freq_base", kMinRopeBase, kMaxRopeBase, global.theta));
  TRY_ASSIGN(global.scale, read_rope_scale(metadata));
  config.ropes.push_back(global);
  if (arch.local_rope_theta > 0) {
    RopeConfig local;
    TRY_ASSIGN(local.theta,
               metadata.number_or("rope.local.freq_base", kMinRopeBase, kMaxRopeBase, arch.local_rope_theta));
    TRY_ASSIGN(local.theta,
               metadata.number_or("rope.freq_base_swa", kMinRopeBase, kMaxRopeBase, local.theta));
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

// Which layers have the window: by metadata (a period, or in newer files a bool for each layer) or by the
// family.
Result<std::vector<bool>> read_window_pattern(const ArchMetadata& metadata, const ModelConfig& config) {
  constexpr const char* kPattern = "attention.sliding_window_pattern";
  const gguf::Value* value = metadata.find(kPattern);
  if (value != nullptr && value->type == gguf::ValueType::kArray) {
    return metadata.bool_per_layer(kPattern, config.n_layers);
  }
  TRY_ASSIGN(const int64_t period, metadata.size_or(kPattern, kMaxLayers, config.arch->window_period));
  std::vector<bool> windowed;
  for (int64_t i = 0; i < config.n_layers; ++i) windowed.push_back(period == 0 || i % period < period - 1);
  return windowed;
}

// Which layers see a window, and which rope they use.
Status read_windows(const ArchMetadata& metadata, ModelConfig& config) {
  constexpr const char* kWindow = "attention.sliding_window";
  TRY_ASSIGN(const std::vector<bool> windowed, read_window_pattern(metadata, config));
  if (!metadata.has(kWindow) && !metadata.has("attention.sliding_window_pattern")) return {};
  TRY_ASSIGN(const int64_t window, metadata.size(kWindow, kMaxContext));
  for (size_t i = 0; i < config.layers.size(); ++i) {
    if (!windowed[i]) continue;
    config.layers[i].window = window;
    config.layers[i].rope = config.ropes.size() - 1;
  }
  return {};
}

// The number of tokens.
Result<int64_t> read_vocab_size(const ArchMetadata& metadata) {
  TRY_ASSIGN(const gguf::StringRange tokens, metadata.file().meta_strings("tokenizer.ggml.tokens"));
  const auto vocab_size = static_cast<int64_t>(tokens.size());
  if (vocab_size == 0) {
    return make_error(ErrorCode::kInvalidFile,
                      "{}: at byte {}: metadata key \"tokenizer.ggml.tokens\": expected tokens, found none",
                      escaped(metadata.file().path(), 4096),
                      metadata.file().find("tokenizer.ggml.tokens")->offset);
  }
  TRY_ASSIGN(const int64_t stated, metadata.size_or("vocab_size", INT32_MAX, vocab_size));
  if (stated != vocab_size) {
    return metadata.refuse("vocab_size", fmt::format("{}, the number of tokenizer.ggml.tokens", vocab_size),
                           std::to_string(stated));
  }
  return vocab_size;
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
  const ArchMetadata metadata(file, config.arch->name);
  TRY(refuse_unsupported(metadata));
  TRY_ASSIGN(const auto model_name, file.meta_optional<std::string_view>("general.name"));
  config.name = model_name.value_or("unnamed");
  TRY_ASSIGN(config.n_layers, metadata.size("block_count", kMaxLayers));
  TRY_ASSIGN(config.dim, metadata.size("embedding_length", kMaxDim));
  TRY_ASSIGN(config.context_length, metadata.size("context_length", kMaxContext));
  TRY_ASSIGN(const double eps, metadata.number("attention.layer_norm_rms_epsilon", kMinNormEps, kMaxNormEps));
  config.norm_eps = static_cast<float>(eps);
  TRY(read_layers(metadata, config));
  TRY(read_head_dim(metadata, config));
  TRY(read_ropes(metadata, config));
  TRY(read_windows(metadata, config));
  TRY_ASSIGN(config.vocab_size, read_vocab_size(metadata));

  const bool by_dim = config.n_layers == config.arch->query_scale_by_dim_layers;
  const double query_size =
      by_dim ? static_cast<double>(config.dim) / static_cast<double>(config.layers[0].n_heads)
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
