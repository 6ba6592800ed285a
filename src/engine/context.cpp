#include "engine/context.h"

#include <algorithm>

#include "base/checked_math.h"
#include "base/text.h"
#include "kv/basic_kv_cache.h"

namespace inferno::engine {
namespace {

constexpr int32_t kSequence = 0;  // the only one of its cache

}  // namespace

Result<Context> Context::create(model::Model& model, DType kv_type, int64_t max_positions,
                                int64_t prompt_length) {
  kv::Config config = model.kv_config(kv_type, 1, max_positions);
  config.soon_positions = prompt_length;
  Result<std::unique_ptr<kv::BasicKvCache>> cache = kv::BasicKvCache::create(model.backend(), config);
  if (!cache && cache.error().code == ErrorCode::kResource) {
    const auto multiple = static_cast<uint64_t>(model.backend().kv_block_multiple());
    const uint64_t positions = (static_cast<uint64_t>(max_positions) + multiple - 1) / multiple * multiple;
    const auto bytes = checked_mul(kv::bytes_per_position(config), positions);
    return model.with_largest_items(cache.error(), {{"keys and values", bytes.value_or(UINT64_MAX)}});
  }
  if (!cache) return cache.error();
  return Context(model, std::move(*cache), kv_type, max_positions);
}

Context::Context(model::Model& model, std::unique_ptr<kv::KvCache> cache, DType kv_type,
                 int64_t max_positions)
    : model_(&model), kv_type_(kv_type), max_positions_(max_positions), cache_(std::move(cache)) {}

Status Context::compute(std::span<const int32_t> tokens, model::Batch::Logits wanted,
                        const CancelFn& cancelled, bool highest_only) {
  logits_ = {};
  highest_.clear();
  TRY(cache_->reserve(kSequence, length_ + static_cast<int64_t>(tokens.size())));
  batch_.clear();
  batch_.append(*cache_, kSequence, tokens, length_, wanted);
  batch_.highest_only = highest_only;
  TRY_ASSIGN(const model::Logits logits, model_->forward(batch_, *cache_, cancelled));
  if (logits.highest != nullptr) {
    highest_.resize(batch_.logits_indices.size());
    TRY(model_->backend().download(highest_.data(), logits.highest, highest_.size() * sizeof highest_[0]));
  } else if (wanted != model::Batch::Logits::kNone) {
    const auto n = static_cast<size_t>(logits.values.n_elements());
    const void* host = model_->backend().host_view(logits.values.data);
    if (host == nullptr) {
      downloaded_.resize(n);
      TRY(model_->backend().download(downloaded_.data(), logits.values.data, logits.values.bytes()));
      host = downloaded_.data();
    }
    logits_ = {static_cast<const float*>(host), n};
  }
  length_ += static_cast<int64_t>(tokens.size());
  return {};
}

std::span<const float> Context::logits(size_t row) const {
  if (logits_.empty()) return {};
  const auto vocab_size = static_cast<size_t>(model_->config().vocab_size);
  return logits_.subspan(row * vocab_size, vocab_size);
}

Result<int32_t> Context::sample(sampling::Sampler& sampler, size_t row,
                                std::span<const int32_t> history) const {
  const auto position = static_cast<uint64_t>(history.size());
  if (highest_.empty()) return sampler.sample(logits(row), history, position);
  const auto& [logit, token_id] = highest_[row];
  return sampler.sample_highest({token_id, logit}, static_cast<size_t>(model_->config().vocab_size),
                                position);
}

void Context::truncate(int64_t n_positions) {
  cache_->truncate(kSequence, n_positions);
  length_ = n_positions;
}

Status check_prompt(const model::Model& model, std::span<const int32_t> prompt_ids) {
  const model::ModelConfig& config = model.config();
  if (prompt_ids.empty()) {
    return make_error(ErrorCode::kInvalidArgument,
                      "the prompt is empty, and the model adds no token of its own to it");
  }
  for (size_t i = 0; i < prompt_ids.size(); ++i) {
    if (prompt_ids[i] < 0 || prompt_ids[i] >= config.vocab_size) {
      return make_error(ErrorCode::kInvalidArgument, "prompt id {} at {}: expected 0 to {}", prompt_ids[i], i,
                        config.vocab_size - 1);
    }
  }
  if (static_cast<int64_t>(prompt_ids.size()) > config.context_length) {
    return make_error(ErrorCode::kResource,
                      "the prompt has {} tokens, the model's context {}: give a shorter prompt, or a model "
                      "with a longer context",
                      prompt_ids.size(), config.context_length);
  }
  return {};
}

int64_t room_after_prompt(const model::Model& model, size_t n_prompt_ids) {
  // The last token is never fed back, so the cache need not hold it.
  return std::max<int64_t>(0, model.config().context_length - static_cast<int64_t>(n_prompt_ids) + 1);
}

Error in_file(const model::Model& model, const Error& error) {
  return Error{error.code, fmt::format("{}: {}", escaped(model.file().path(), 4096), error.message)};
}

}  // namespace inferno::engine
