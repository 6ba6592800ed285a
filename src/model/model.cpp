#include "model/model.h"

#include <algorithm>

#include "base/log.h"
#include "base/text.h"

namespace inferno::model {
namespace {

// Bytes of the activations of one row: what reserve_workspace() allocates for each.
int64_t workspace_row_bytes(const ModelConfig& c, DType dtype) {
  const int64_t elements = 3 * c.dim + 2 * (c.max_heads() + c.max_kv_heads()) * c.head_dim +
                           2 * c.max_hidden_dim() + static_cast<int64_t>(c.ropes.size()) * 2 * c.n_rope_pairs;
  return static_cast<int64_t>(row_bytes(dtype, static_cast<size_t>(elements)));
}

}  // namespace

Result<std::unique_ptr<Model>> Model::load(gguf::File file, std::shared_ptr<backend::Backend> backend,
                                           const WeightOptions& options) {
  auto model = std::unique_ptr<Model>(new Model(std::move(file), std::move(backend)));
  TRY_ASSIGN(model->config_, read_config(model->file_));
  TRY_ASSIGN(model->weights_, load_weights(model->file_, model->config_, *model->backend_, options));
  const ModelConfig& config = model->config_;
  constexpr int64_t kMaxWorkspaceBytes = int64_t{256} << 20;
  const int64_t row = workspace_row_bytes(config, model->backend_->info().activation_dtype);
  model->max_batch_ = std::clamp<int64_t>(kMaxWorkspaceBytes / row, 1, 512);
  log::event(log::Level::kDebug, "inferno::model", "loaded",
             {{"name", config.name},
              {"architecture", config.arch->name},
              {"layers", config.n_layers},
              {"dim", config.dim},
              {"context", config.context_length},
              {"vocabulary", config.vocab_size},
              {"bytes", model->weights_.bytes()}});
  return model;
}

kv::Config Model::kv_config(DType dtype, int64_t max_seqs, int64_t max_positions) const {
  kv::Config kv{.layers = {}, .dtype = dtype, .max_seqs = max_seqs, .max_positions = max_positions};
  for (const LayerConfig& layer : config_.layers) kv.layers.push_back({layer.n_kv_heads, config_.head_dim});
  return kv;
}

Error Model::with_largest_items(const Error& error, std::vector<MemoryItem> others) const {
  if (error.code != ErrorCode::kResource) return error;
  if (backend_->copies_weights()) {
    const std::vector<MemoryItem> weights = tensor_items(file_);
    others.insert(others.end(), weights.begin(), weights.end());
  }
  return Error{error.code, fmt::format("{}; {}{}", error.message, largest_items(std::move(others)),
                                       backend_->info().is_cpu() ? "" : kHostAdvice)};
}

Status Model::reserve_workspace(int64_t n_tokens, int64_t n_logits) {
  const Status allocated = allocate_workspace(n_tokens, n_logits);
  if (allocated || allocated.error().code != ErrorCode::kResource) return allocated;
  const DType dtype = backend_->info().activation_dtype;
  const auto activations = static_cast<uint64_t>(n_tokens * workspace_row_bytes(config_, dtype));
  const uint64_t logits = row_bytes(dtype, static_cast<size_t>(n_logits * config_.vocab_size));
  return with_largest_items(
      make_error(ErrorCode::kResource, "the activations of {} tokens need {}, their logits {}: {}", n_tokens,
                 human_bytes(activations), human_bytes(logits), allocated.error().message),
      {{"activations", activations}, {"logits", logits}});
}

Status Model::allocate_workspace(int64_t n_tokens, int64_t n_logits) {
  const DType dtype = backend_->info().activation_dtype;
  const auto allocate = [&](Tensor& tensor, Buffer& buffer, int64_t rows, int64_t cols) -> Status {
    TRY_ASSIGN(buffer, backend_->alloc(row_bytes(dtype, static_cast<size_t>(rows * cols))));
    tensor = Tensor{.dtype = dtype, .n_dims = 2, .shape = {rows, cols}, .data = buffer.data()};
    return {};
  };
  Workspace& s = workspace_;
  if (n_tokens > s.capacity) {
    s = Workspace{};
    s.cos_sin.resize(config_.ropes.size());
    const auto activation = [&](Tensor& tensor, int64_t cols) {
      return allocate(tensor, s.buffers.emplace_back(), n_tokens, cols);
    };
    TRY(activation(s.x, config_.dim));
    TRY(activation(s.normed, config_.dim));
    TRY(activation(s.rows, config_.dim));
    TRY(activation(s.q, config_.max_heads() * config_.head_dim));
    TRY(activation(s.attended, config_.max_heads() * config_.head_dim));
    TRY(activation(s.k, config_.max_kv_heads() * config_.head_dim));
    TRY(activation(s.v, config_.max_kv_heads() * config_.head_dim));
    TRY(activation(s.gate, config_.max_hidden_dim()));
    TRY(activation(s.up, config_.max_hidden_dim()));
    for (Tensor& table : s.cos_sin) TRY(activation(table, config_.n_rope_pairs * 2));
    s.capacity = n_tokens;
  }
  if (n_logits > s.logits_capacity) {
    TRY(allocate(s.logits, s.logits_buffer, n_logits, config_.vocab_size));
    if (backend_->host_view(s.logits.data) == nullptr) {
      TRY_ASSIGN(s.highest, backend_->alloc(static_cast<size_t>(n_logits) * sizeof(backend::Argmax)));
    }
    s.logits_capacity = n_logits;
  }
  return {};
}

}  // namespace inferno::model
