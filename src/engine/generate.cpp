#include "engine/generate.h"

#include <algorithm>
#include <cmath>

#include "base/log.h"
#include "base/text.h"
#include "engine/stop_strings.h"
#include "kv/basic_kv_cache.h"
#include "model/batch.h"
#include "tokenizer/stream_decoder.h"

namespace inferno::engine {
namespace {

constexpr std::string_view kModule = "inferno::decode";
constexpr int32_t kSequence = 0;  // the only one of its cache

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
    return make_error(ErrorCode::kResource, "the prompt has {} tokens, the model's context {}",
                      prompt_ids.size(), config.context_length);
  }
  return {};
}

// A fault that shows only when a model runs, with the file that it comes from.
Error in_file(const model::Model& model, const Error& error) {
  return Error{error.code, fmt::format("{}: {}", escaped(model.file().path(), 4096), error.message)};
}

// The forward passes of one sequence: tokens in, logits of the last one in host memory out.
class Sequence {
 public:
  static Result<Sequence> create(model::Model& model, DType kv_type, int64_t max_positions) {
    TRY_ASSIGN(auto cache,
               kv::BasicKvCache::create(model.backend(), model.kv_config(kv_type, 1, max_positions)));
    return Sequence(model, std::move(cache));
  }

  int64_t length() const { return length_; }

  // Computes tokens after those already there, `chunk` or max_batch() at a time. With kLast, logits() has one
  // row afterwards; with kAll, each_chunk sees the rows of each chunk.
  template <class EachChunk>
  Status extend(std::span<const int32_t> tokens, model::Batch::Logits wanted, int64_t chunk,
                const std::atomic<bool>* cancelled, EachChunk&& each_chunk) {
    TRY(cache_->reserve(kSequence, length_ + static_cast<int64_t>(tokens.size())));
    const auto rows = static_cast<size_t>(std::min(chunk, model_->max_batch()));
    while (!tokens.empty()) {
      const auto now = tokens.first(std::min(tokens.size(), rows));
      tokens = tokens.subspan(now.size());
      const bool skip = wanted == model::Batch::Logits::kLast && !tokens.empty();
      batch_.clear();
      batch_.append(*cache_, kSequence, now, length_, skip ? model::Batch::Logits::kNone : wanted);
      TRY_ASSIGN(const model::Logits logits, model_->forward(batch_, *cache_, cancelled));
      length_ += static_cast<int64_t>(now.size());
      if (skip) continue;
      logits_.resize(static_cast<size_t>(logits.values.n_elements()));
      TRY(model_->backend().download(logits_.data(), logits.values.data, logits.values.bytes()));
      TRY(each_chunk());
    }
    return {};
  }

  Status extend(std::span<const int32_t> tokens, const std::atomic<bool>* cancelled) {
    constexpr int64_t kPrefillChunk = 128;  // rows of a layer between two looks at `cancelled`
    return extend(tokens, model::Batch::Logits::kLast, kPrefillChunk, cancelled, [] { return Status(); });
  }

  void forget() {
    cache_->truncate(kSequence, 0);
    length_ = 0;
  }

  std::span<const float> logits() const { return logits_; }

 private:
  Sequence(model::Model& model, std::unique_ptr<kv::KvCache> cache)
      : model_(&model), cache_(std::move(cache)) {}

  model::Model* model_;
  std::unique_ptr<kv::KvCache> cache_;
  int64_t length_ = 0;
  model::Batch batch_;
  std::vector<float> logits_;
};

// Turns tokens into the text to show, and says when generation is over.
class TextOutput {
 public:
  TextOutput(std::shared_ptr<const tokenizer::Tokenizer> tokenizer, const Request& request,
             const OnText& on_text)
      : decoder_(std::move(tokenizer)), stops_(request.stop), on_text_(on_text) {}

  void push(int32_t id) { show(stops_.push(decoder_.push(id))); }
  bool stopped() const { return stops_.stopped(); }
  bool refused() const { return refused_; }

  std::string finish() {
    show(stops_.push(decoder_.flush()));
    show(stops_.flush());
    return std::move(text_);
  }

 private:
  void show(const std::string& text) {
    text_ += text;
    if (on_text_ && !text.empty() && !refused_) refused_ = !on_text_(text);
  }

  tokenizer::StreamDecoder decoder_;
  StopStrings stops_;
  const OnText& on_text_;
  std::string text_;
  bool refused_ = false;
};

void log_token(const tokenizer::Tokenizer& tokenizer, size_t step, const sampling::Sample& sample) {
  if (!log::enabled(log::Level::kInfo, kModule)) return;
  log::event(log::Level::kInfo, kModule, "",
             {{"step", step},
              {"token_id", sample.token_id},
              {"prob", fmt::format("{:.1f}", sample.probability * 100.0f)},
              {"token", tokenizer.piece(sample.token_id)}});
}

}  // namespace

std::string_view name(FinishReason reason) {
  switch (reason) {
    case FinishReason::kEnd:
      return "end";
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kContext:
      return "context";
    case FinishReason::kCancelled:
      return "cancelled";
  }
  return "unknown";
}

Result<Generated> generate(model::Model& model, std::shared_ptr<const tokenizer::Tokenizer> tokenizer,
                           const Request& request, metrics::Metrics& metrics, const OnText& on_text,
                           const std::atomic<bool>* cancelled) {
  TRY(sampling::validate(request.sampling));
  TRY(check_prompt(model, request.prompt_ids));
  Generated result;
  if (request.max_new_tokens <= 0) return result;

  // The last token is never fed back, so the cache need not hold it.
  const auto prompt_length = static_cast<int64_t>(request.prompt_ids.size());
  const int64_t room = model.config().context_length - prompt_length + 1;
  const int64_t max_new = std::min(request.max_new_tokens, room);
  TRY_ASSIGN(Sequence sequence, Sequence::create(model, request.kv_type, prompt_length + max_new - 1));
  sampling::Sampler sampler(request.sampling);
  TextOutput output(tokenizer, request, on_text);
  std::vector<int32_t> ids = request.prompt_ids;
  result.finish_reason = max_new < request.max_new_tokens ? FinishReason::kContext : FinishReason::kLength;

  for (int64_t step = 1; step <= max_new; ++step) {
    if (output.refused() || (cancelled != nullptr && cancelled->load(std::memory_order_relaxed))) {
      result.finish_reason = FinishReason::kCancelled;
      break;
    }
    if (!request.use_kv_cache) sequence.forget();
    model.backend().reset_counters();
    metrics::Metrics pass;  // counts only once it is whole
    const auto tokens = std::span(ids).subspan(static_cast<size_t>(sequence.length()));
    const Status computed = pass.record_timed([&] { return sequence.extend(tokens, cancelled); });
    if (!computed && computed.error().code == ErrorCode::kCancelled) {
      result.finish_reason = FinishReason::kCancelled;
      break;
    }
    TRY(computed);
    metrics.record_forward_share(pass.per_forward().front(), 1);
    if (step > 1) result.decode_cost += model.backend().counters();
    const Result<sampling::Sample> drawn =
        sampler.sample(sequence.logits(), ids, static_cast<uint64_t>(ids.size()));
    if (!drawn) return in_file(model, drawn.error());
    const sampling::Sample sample = *drawn;
    ids.push_back(sample.token_id);
    result.ids.push_back(sample.token_id);
    log_token(*tokenizer, result.ids.size(), sample);
    if (!request.ignore_end && tokenizer->is_end(sample.token_id)) {
      log::event(log::Level::kInfo, kModule, "[EOS reached]");
      result.finish_reason = FinishReason::kEnd;
      break;
    }
    output.push(sample.token_id);
    if (output.stopped()) {
      result.finish_reason = FinishReason::kStop;
      break;
    }
  }
  result.text = output.finish();
  return result;
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

Status prompt_logits(model::Model& model, std::span<const int32_t> prompt_ids, DType kv_type,
                     const OnLogits& on_logits) {
  constexpr int64_t kChunk = 64;  // rows of logits held at once
  TRY(check_prompt(model, prompt_ids));
  TRY_ASSIGN(Sequence sequence, Sequence::create(model, kv_type, static_cast<int64_t>(prompt_ids.size())));
  int64_t done = 0;
  return sequence.extend(prompt_ids, model::Batch::Logits::kAll, kChunk, nullptr, [&]() -> Status {
    const std::span<const float> logits = sequence.logits();
    const auto bad = std::find_if(logits.begin(), logits.end(), [](float l) { return !std::isfinite(l); });
    if (bad != logits.end()) {
      const int64_t at = bad - logits.begin();
      return in_file(model,
                     make_error(ErrorCode::kRuntime,
                                "position {}: the logit of token {} is {}, expected a finite number; "
                                "`inferno inspect --check-tensors` finds damaged weights",
                                done + at / model.config().vocab_size, at % model.config().vocab_size, *bad));
    }
    done = sequence.length();
    return on_logits(logits, static_cast<int64_t>(logits.size()) / model.config().vocab_size);
  });
}

}  // namespace inferno::engine
