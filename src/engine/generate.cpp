#include "engine/generate.h"

#include <algorithm>
#include <cmath>

namespace inferno::engine {

Result<Generated> generate(model::Model& model, std::shared_ptr<const tokenizer::Tokenizer> tokenizer,
                           const Request& request, metrics::Metrics& metrics, const OnText& on_text,
                           const std::atomic<bool>* cancelled, metrics::ServingMetrics* serving,
                           const ProgressFn& on_prompt) {
  Engine engine(model, std::move(tokenizer), {}, metrics.clock());
  TRY_ASSIGN(const RequestId id, engine.submit(request, on_text, cancel_by(cancelled)));
  while (engine.has_work()) {
    engine.step();
    if (!on_prompt || !engine.has_work() || engine.n_generated(id) > 0) continue;
    on_prompt("prompt", static_cast<uint64_t>(engine.n_computed(id)), request.prompt_ids.size());
  }
  Outcome outcome = *engine.take(id);
  for (const auto pass : outcome.metrics.per_forward()) metrics.record_forward_share(pass, 1);
  if (serving != nullptr) *serving = engine.metrics();
  return std::move(outcome.generated);
}

Result<std::vector<int32_t>> greedy_generate(model::Model& model,
                                             std::shared_ptr<const tokenizer::Tokenizer> tokenizer,
                                             std::span<const int32_t> prompt_ids, int64_t max_new_tokens,
                                             metrics::Metrics& metrics) {
  Request request;
  request.prompt_ids.assign(prompt_ids.begin(), prompt_ids.end());
  request.max_new_tokens = max_new_tokens;
  TRY_ASSIGN(const Generated generated, generate(model, std::move(tokenizer), request, metrics));
  std::vector<int32_t> ids = std::move(request.prompt_ids);
  ids.insert(ids.end(), generated.ids.begin(), generated.ids.end());
  return ids;
}

namespace {

Status check_finite(const model::Model& model, std::span<const float> logits, int64_t first_position) {
  const auto bad = std::find_if(logits.begin(), logits.end(), [](float l) { return !std::isfinite(l); });
  if (bad == logits.end()) return {};
  const int64_t at = bad - logits.begin();
  return in_file(model, make_error(ErrorCode::kRuntime,
                                   "position {}: the logit of token {} is {}, expected a finite number; "
                                   "`inferno inspect --check-tensors` finds damaged weights (and, with "
                                   "--repack-cache, those of a cache)",
                                   first_position + at / model.config().vocab_size,
                                   at % model.config().vocab_size, *bad));
}

}  // namespace

Status prompt_logits(model::Model& model, std::span<const int32_t> prompt_ids, DType kv_type,
                     const OnLogits& on_logits, int64_t first_position, const CancelFn& cancelled,
                     const ProgressFn& progress) {
  constexpr int64_t kChunk = 64;  // rows of logits held at once
  TRY(check_prompt(model, prompt_ids));
  const size_t n_all = prompt_ids.size();
  const auto n_positions = static_cast<int64_t>(n_all);
  TRY_ASSIGN(Context context, Context::create(model, kv_type, n_positions, n_positions));
  while (!prompt_ids.empty()) {
    const int64_t n_before = first_position - context.length();
    const bool wanted = n_before <= 0;
    const int64_t rows = std::min(wanted ? kChunk : n_before, model.max_batch());
    const auto now = prompt_ids.first(std::min(prompt_ids.size(), static_cast<size_t>(rows)));
    prompt_ids = prompt_ids.subspan(now.size());
    TRY(context.compute(now, wanted ? model::Batch::Logits::kAll : model::Batch::Logits::kNone, cancelled));
    if (progress) progress("prompt", static_cast<uint64_t>(context.length()), n_all);
    if (!wanted) continue;
    const auto n = static_cast<int64_t>(now.size());
    TRY(check_finite(model, context.logits(), context.length() - n));
    TRY(on_logits(context.logits(), n));
  }
  return {};
}

}  // namespace inferno::engine
