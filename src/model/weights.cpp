#include "model/weights.h"

#include <atomic>
#include <cmath>
#include <unordered_set>

#include "backend/repack_cache.h"
#include "base/text.h"
#include "metrics/telemetry.h"
#include "model/memory_items.h"
#include "model/synthetic.h"

namespace inferno::model {
namespace {

using backend::Weight;
using backend::WeightUse;

// Takes tensors out of a file one by one and remembers which ones.
class Loader {
 public:
  Loader(const gguf::File& file, backend::Backend& backend, const WeightOptions& options)
      : file_(file), backend_(backend), options_(options) {
    for (const gguf::TensorInfo& info : file.tensors()) total_bytes_ += info.tensor.bytes();
    const gguf::TensorInfo* untied = file.find_tensor("output.weight");
    const gguf::TensorInfo* head = untied != nullptr ? untied : file.find_tensor("token_embd.weight");
    if (head != nullptr) screen_bytes_ = backend.screen_bytes(head->tensor);
  }

  // Before memory is taken that the system would promise and not have. Copies in the file of a cache take
  // none that cannot be given back.
  Status check_memory() const {
    const auto available = backend_.available_memory();
    if (!backend_.copies_weights() || (options_.cache != nullptr && options_.cache->is_open()) ||
        !available || total_bytes_ + screen_bytes_ <= *available)
      return {};
    std::vector<MemoryItem> items = tensor_items(file_);
    if (screen_bytes_ != 0) items.push_back({"the screen of the LM head", screen_bytes_});
    return make_error(
        ErrorCode::kResource,
        "{}: the backend's copy of the weights takes up to {} of memory{}, {} are available; {}{}",
        escaped(file_.path(), 4096), human_bytes(total_bytes_),
        screen_bytes_ == 0 ? "" : " and the screen of the LM head " + human_bytes(screen_bytes_),
        human_bytes(*available), largest_items(std::move(items)), advice());
  }

  bool has(std::string_view name) const { return file_.find_tensor(name) != nullptr; }

  Result<Weight> matrix(const std::string& name, int64_t rows, int64_t cols,
                        WeightUse use = WeightUse::kMatmul) {
    return take(name, {rows, cols}, use);
  }
  Result<Weight> vector(const std::string& name, int64_t size) {
    return take(name, {size}, WeightUse::kVector);
  }

  // By the row's word: an empty weight, the tensor, or an error that the tensor is missing.
  Result<Weight> vector_if(Presence presence, const std::string& name, int64_t size) {
    if (presence == Presence::kNever || (presence == Presence::kOptional && !has(name))) return Weight{};
    return vector(name, size);
  }

  Error refuse(std::string_view name, std::string_view expected, std::string_view found) const {
    const gguf::TensorInfo* info = file_.find_tensor(name);
    const std::string place = info == nullptr ? "" : fmt::format("at byte {}: ", info->file_offset);
    return make_error(ErrorCode::kInvalidFile, "{}: {}tensor {}: expected {}, found {}",
                      escaped(file_.path(), 4096), place, name, expected, found);
  }

  Result<Tensor> find(const std::string& name, std::initializer_list<int64_t> shape) {
    const gguf::TensorInfo* info = file_.find_tensor(name);
    if (info == nullptr) return refuse(name, fmt::format("shape [{}]", join(shape, ", ")), "no such tensor");
    if (!std::equal(shape.begin(), shape.end(), info->tensor.shape.begin(),
                    info->tensor.shape.begin() + info->tensor.n_dims)) {
      return refuse(name, fmt::format("shape [{}] by the metadata", join(shape, ", ")),
                    info->tensor.shape_string());
    }
    if (!traits(info->tensor.dtype).is_weight) {
      return refuse(name, "a type that can be multiplied with", inferno::name(info->tensor.dtype));
    }
    taken_.insert(info->name);
    return info->tensor;
  }

  // Reports a tensor that nothing asked for: a model whose meaning we would get wrong.
  Status check_all_taken() const {
    for (const gguf::TensorInfo& info : file_.tensors()) {
      if (taken_.count(info.name) == 0) {
        return make_error(ErrorCode::kInvalidFile,
                          "{}: at byte {}: tensor {} has no place in this architecture: its layers, biases "
                          "or norms differ from "
                          "what is supported",
                          escaped(file_.path(), 4096), info.file_offset, quote(info.name));
      }
    }
    return {};
  }

 private:
  const char* advice() const {
    if (is_synthetic(file_.path())) return "; take a smaller preset, or a type of fewer bits";
    if (!backend_.info().is_cpu()) return kHostAdvice;
    return backend_.copies_weights() ? "; --backend scalar reads them from the file" : "";
  }

  // Others take memory, too, so that what was there before the load may be gone in the middle of it.
  Error no_room_for(std::string_view name, const Error& error) const {
    return make_error(ErrorCode::kResource, "{}: tensor {}: {}; of {} of weights, {} were loaded; {}{}",
                      escaped(file_.path(), 4096), name, error.message, human_bytes(total_bytes_),
                      human_bytes(done_bytes_), largest_items(tensor_items(file_)), advice());
  }

  Result<Weight> take(const std::string& name, std::initializer_list<int64_t> shape, WeightUse use) {
    if (options_.cancelled && options_.cancelled()) return Error{ErrorCode::kCancelled, "cancelled"};
    TRY_ASSIGN(const Tensor tensor, find(name, shape));
    const gguf::TensorInfo& info = *file_.find_tensor(name);
    std::atomic<bool> is_copied = false;
    backend::WeightSource source = tensor;
    if (file_.copies_from_file(info)) {
      source.copy_rows = [&](int64_t first, int64_t n, std::byte* to) -> Status {
        const int64_t cols = tensor.cols();
        const auto size_of = [&](int64_t n_rows) {
          return row_bytes(tensor.dtype, static_cast<size_t>(n_rows * cols));
        };
        is_copied = true;
        TRY(file_.copy(info, size_of(first), {to, size_of(n)}));
        if (options_.checker != nullptr) options_.checker->check_copy(info, first * cols, n * cols, to);
        return {};
      };
      source.start_over = [&] {
        if (options_.checker != nullptr) options_.checker->forget(info);
      };
    }
    Result<Weight> weight = options_.cache == nullptr
                                ? backend_.load_weight(source, use)
                                : backend_.load_weight_cached(source, use, name, *options_.cache);
    if (!weight && weight.error().code == ErrorCode::kResource) return no_room_for(name, weight.error());
    if (!weight) return weight;
    if (options_.checker != nullptr && !is_copied) options_.checker->check(info);
    if (backend_.copies_weights()) file_.release(info);
    done_bytes_ += tensor.bytes();
    if (options_.progress) options_.progress("loading", done_bytes_, total_bytes_);
    return weight;
  }

  const gguf::File& file_;
  backend::Backend& backend_;
  const WeightOptions& options_;
  std::unordered_set<std::string_view> taken_;
  uint64_t total_bytes_ = 0;
  uint64_t screen_bytes_ = 0;
  uint64_t done_bytes_ = 0;
};

Result<LayerWeights> load_layer(Loader& loader, const ModelConfig& config, size_t index) {
  const LayerConfig& layer = config.layers[index];
  const ArchRow& arch = *config.arch;
  const auto tensor = [&](std::string_view suffix) { return fmt::format("blk.{}.{}", index, suffix); };
  const int64_t q_dim = layer.n_heads * config.head_dim;
  const int64_t kv_dim = layer.n_kv_heads * config.head_dim;
  LayerWeights w;
  TRY_ASSIGN(w.attn_norm, loader.vector(tensor("attn_norm.weight"), config.dim));
  TRY_ASSIGN(w.attn_q, loader.matrix(tensor("attn_q.weight"), q_dim, config.dim));
  TRY_ASSIGN(w.attn_k, loader.matrix(tensor("attn_k.weight"), kv_dim, config.dim));
  TRY_ASSIGN(w.attn_v, loader.matrix(tensor("attn_v.weight"), kv_dim, config.dim));
  TRY_ASSIGN(w.attn_q_bias, loader.vector_if(arch.qkv_bias, tensor("attn_q.bias"), q_dim));
  TRY_ASSIGN(w.attn_k_bias, loader.vector_if(arch.qkv_bias, tensor("attn_k.bias"), kv_dim));
  TRY_ASSIGN(w.attn_v_bias, loader.vector_if(arch.qkv_bias, tensor("attn_v.bias"), kv_dim));
  TRY_ASSIGN(w.attn_q_norm, loader.vector_if(arch.qk_norm, tensor("attn_q_norm.weight"), config.head_dim));
  TRY_ASSIGN(w.attn_k_norm, loader.vector_if(arch.qk_norm, tensor("attn_k_norm.weight"), config.head_dim));
  TRY_ASSIGN(w.attn_output, loader.matrix(tensor("attn_output.weight"), config.dim, q_dim));
  TRY_ASSIGN(w.attn_output_bias, loader.vector_if(arch.out_bias, tensor("attn_output.bias"), config.dim));
  TRY_ASSIGN(w.post_attention_norm,
             loader.vector_if(arch.post_norms, tensor("post_attention_norm.weight"), config.dim));
  TRY_ASSIGN(w.ffn_norm, loader.vector(tensor("ffn_norm.weight"), config.dim));
  TRY_ASSIGN(w.ffn_gate, loader.matrix(tensor("ffn_gate.weight"), layer.hidden_dim, config.dim));
  TRY_ASSIGN(w.ffn_up, loader.matrix(tensor("ffn_up.weight"), layer.hidden_dim, config.dim));
  TRY_ASSIGN(w.ffn_down, loader.matrix(tensor("ffn_down.weight"), config.dim, layer.hidden_dim));
  TRY_ASSIGN(w.post_ffw_norm, loader.vector_if(arch.post_norms, tensor("post_ffw_norm.weight"), config.dim));
  return w;
}

// rope_freqs divides the frequencies of long context models; all its values are finite and positive.
Status apply_freq_factors(Loader& loader, ModelConfig& config) {
  constexpr const char* kName = "rope_freqs.weight";
  if (!loader.has(kName)) return {};
  TRY_ASSIGN(const Tensor factors, loader.find(kName, {config.n_rope_pairs}));
  if (factors.dtype != DType::kF32) return loader.refuse(kName, "F32", name(factors.dtype));
  for (int64_t i = 0; i < config.n_rope_pairs; ++i) {
    const float factor = factors.as<const float>()[i];
    if (!std::isfinite(factor) || factor <= 0) {
      return loader.refuse(kName, "finite numbers > 0", fmt::format("{} as element {}", factor, i));
    }
    for (RopeConfig& rope : config.ropes) {
      if (rope.uses_freq_factors) rope.inv_freq[static_cast<size_t>(i)] /= factor;
    }
  }
  return {};
}

}  // namespace

uint64_t Weights::bytes() const {
  uint64_t sum = token_embd.bytes() + output_norm.bytes();
  if (output.data != token_embd.data) sum += output.bytes();
  for (const LayerWeights& w : layers) {
    for (const Weight* weight :
         {&w.attn_norm, &w.attn_q, &w.attn_k, &w.attn_v, &w.attn_q_bias, &w.attn_k_bias, &w.attn_v_bias,
          &w.attn_q_norm, &w.attn_k_norm, &w.attn_output, &w.attn_output_bias, &w.post_attention_norm,
          &w.ffn_norm, &w.ffn_gate, &w.ffn_up, &w.ffn_down, &w.post_ffw_norm}) {
      if (!weight->empty()) sum += weight->bytes();
    }
  }
  return sum;
}

Result<Weights> load_weights(const gguf::File& file, ModelConfig& config, backend::Backend& backend,
                             const WeightOptions& options) {
  const telemetry::ScopedCounter counter("model::LoadWeights");
  Loader loader(file, backend, options);
  TRY(loader.check_memory());
  Weights weights;
  const bool tied = !loader.has("output.weight");
  TRY_ASSIGN(weights.token_embd, loader.matrix("token_embd.weight", config.vocab_size, config.dim,
                                               tied ? WeightUse::kEmbeddingAndHead : WeightUse::kEmbedding));
  TRY_ASSIGN(weights.output_norm, loader.vector("output_norm.weight", config.dim));
  if (tied) {
    weights.output = weights.token_embd;
  } else {
    TRY_ASSIGN(weights.output,
               loader.matrix("output.weight", config.vocab_size, config.dim, WeightUse::kHead));
  }
  TRY(apply_freq_factors(loader, config));
  for (size_t i = 0; i < config.layers.size(); ++i) {
    TRY_ASSIGN(LayerWeights layer, load_layer(loader, config, i));
    weights.layers.push_back(std::move(layer));
  }
  TRY(loader.check_all_taken());
  return weights;
}

}  // namespace inferno::model
