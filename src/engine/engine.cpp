#include "engine/engine.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "metrics/telemetry.h"

namespace inferno::engine {
namespace {

constexpr std::string_view kModule = "inferno::decode";

// A token's probability takes all logits.
bool logs_tokens() {
  return log::enabled(log::Level::kInfo, kModule);
}

void log_token(const tokenizer::Tokenizer& tokenizer, size_t step, std::span<const float> logits,
               int32_t id) {
  if (!logs_tokens() || logits.empty()) return;  // empty: it was not on when the pass began
  log::event(log::Level::kInfo, kModule, "",
             {{"step", step},
              {"token_id", id},
              {"prob", fmt::format("{:.1f}", sampling::probability(logits, id) * 100.0f)},
              {"token", tokenizer.piece(id)}});
}

}  // namespace

Engine::Engine(model::Model& model, std::shared_ptr<const tokenizer::Tokenizer> tokenizer,
               Scheduler::Limits limits, const Clock& clock)
    : model_(&model), tokenizer_(std::move(tokenizer)), clock_(&clock), scheduler_(limits, clock) {}

Result<RequestId> Engine::submit(Request request, OnText on_text, CancelFn cancelled) {
  TRY(sampling::validate(request.sampling));
  TRY(check_prompt(*model_, request.prompt_ids));
  const RequestId id = next_id_;
  TRY(scheduler_.enqueue_batch(std::span(&id, 1)));
  ++next_id_;
  Sequence& sequence =
      sequences_.try_emplace(id, id, std::move(request), tokenizer_, std::move(on_text), std::move(cancelled))
          .first->second;
  sequence.generated.timeline.enqueued = scheduler_.stage_time(id, Scheduler::Stage::kEnqueue);
  ++n_unfinished_;
  return id;
}

void Engine::step() {
  schedule();
  const std::vector<RequestId> now = running_;
  for (const RequestId id : now) {
    Sequence& sequence = sequences_.at(id);
    const Status advanced = advance(sequence);
    if (!advanced && advanced.error().code == ErrorCode::kCancelled) {
      finish(sequence, FinishReason::kCancelled);
    } else if (!advanced) {
      fail(sequence, advanced.error());
    }
  }
}

void Engine::schedule() {
  while (const std::optional<RequestId> id = scheduler_.dispatch_next()) {
    Sequence& sequence = sequences_.at(*id);
    metrics::Timeline& timeline = sequence.generated.timeline;
    timeline.dispatched = scheduler_.stage_time(*id, Scheduler::Stage::kDispatch);
    if (telemetry::enabled()) {
      telemetry::record("Scheduler::QueueWait", *timeline.enqueued, *timeline.dispatched);
    }
    sequence.state = Sequence::State::kRunning;
    running_.push_back(*id);
    if (const Status started = start(sequence); !started) fail(sequence, started.error());
  }
}

Status Engine::start(Sequence& sequence) {
  const auto prompt_length = static_cast<int64_t>(sequence.ids.size());
  sequence.max_new_tokens = std::clamp<int64_t>(sequence.request.max_new_tokens, 0,
                                                room_after_prompt(*model_, sequence.ids.size()));
  if (sequence.max_new_tokens == 0) {
    finish(sequence, FinishReason::kLength);
    return {};
  }
  TRY_ASSIGN(sequence.context, make_context(sequence.request.kv_type,
                                            prompt_length + sequence.max_new_tokens - 1, prompt_length));
  // Its whole cache is one page: one run of positions.
  metrics_.kv_residency().pin(static_cast<int64_t>(sequence.id), clock_->now());
  return {};
}

Result<Context> Engine::make_context(DType kv_type, int64_t max_positions, int64_t prompt_length) {
  std::optional<Context> spare = std::exchange(spare_, std::nullopt);
  if (spare && spare->fits(kv_type, max_positions)) {
    spare->truncate(0);
    return std::move(*spare);
  }
  spare.reset();  // the new one may need its memory
  return Context::create(*model_, kv_type, max_positions, prompt_length);
}

// One forward pass, or a chunk of a long one, and the tokens that come of it.
Status Engine::advance(Sequence& sequence) {
  if (sequence.is_cancelled()) {
    finish(sequence, FinishReason::kCancelled);
    return {};
  }
  const auto pending = sequence.pending();
  const auto chunk = static_cast<size_t>(std::min(kPrefillChunk, model_->max_batch()));
  if (pending.size() > chunk) return forward(sequence, pending.first(chunk), model::Batch::Logits::kNone);
  const auto guesses = guess(sequence);
  std::vector<int32_t> tokens(pending.begin(), pending.end());
  tokens.insert(tokens.end(), guesses.begin(), guesses.end());
  TRY(forward(sequence, tokens, guesses.empty() ? model::Batch::Logits::kLast : model::Batch::Logits::kAll));
  if (sequence.speculation) sequence.speculation->passed(tokens.size(), sequence.pass_time);
  const bool is_prefill = sequence.is_prefill();
  const size_t n_before = sequence.generated.ids.size();
  const Status sampled = sample(sequence, guesses);
  record_pass(sequence, is_prefill, sequence.generated.ids.size() - n_before);
  return sampled;
}

// Tokens that may follow the next one, to be computed along with it.
std::span<const int32_t> Engine::guess(Sequence& sequence) {
  if (!sequence.request.speculate || !sequence.request.use_kv_cache || sequence.is_prefill()) return {};
  if (!sequence.speculation) sequence.speculation.emplace();
  return sequence.speculation->draft(sequence.ids,
                                     std::min(sequence.room_for_guesses(), model_->max_batch() - 1));
}

Status Engine::forward(Sequence& sequence, std::span<const int32_t> tokens, model::Batch::Logits wanted) {
  const telemetry::ScopedCounter counter(sequence.is_prefill() ? "Engine::Prefill" : "Engine::Decode");
  model_->backend().reset_counters();
  const auto start = clock_->now();
  const bool highest_only = sequence.sampler.takes_highest() && !logs_tokens();
  TRY(sequence.context->compute(tokens, wanted, sequence.cancelled, highest_only));
  sequence.pass_time += clock_->now() - start;
  sequence.pass_cost += model_->backend().counters();
  sequence.generated.head_screen += model_->backend().head_screen_use();
  return {};
}

// A pass that made several tokens counts as so many, each with its share.
void Engine::record_pass(Sequence& sequence, bool is_prefill, size_t n_tokens) {
  Generated& generated = sequence.generated;
  (is_prefill ? generated.phases.prefill : generated.phases.decode) += sequence.pass_time;
  (is_prefill ? generated.prefill_cost : generated.decode_cost) += sequence.pass_cost;
  const size_t shares = std::max<size_t>(n_tokens, 1);
  for (size_t i = 0; i < shares; ++i) sequence.metrics.record_forward_share(sequence.pass_time, shares);
  sequence.pass_time = {};
  sequence.pass_cost = {};
}

// The token after those that are sure, and one more for each guess that came: its logits are there already.
Status Engine::sample(Sequence& sequence, std::span<const int32_t> guesses) {
  sequence.generated.guesses.drafted += guesses.size();
  for (size_t row = 0; row <= guesses.size(); ++row) {
    const Result<int32_t> id = draw(sequence, row);
    if (!id && row < guesses.size()) {
      // A wrong guess may have a value beyond what the cache's type holds, which reaches the rows beside it
      // (kernels/cpu/loops/attention.h): what is sure is computed again, alone.
      sequence.request.speculate = false;
      break;
    }
    TRY(id);
    if (sequence.speculation) sequence.speculation->came(*id);
    commit(sequence, *id);
    if (sequence.state != Sequence::State::kRunning) return {};
    if (row == guesses.size() || guesses[row] != *id || sequence.is_cancelled()) break;
    ++sequence.generated.guesses.accepted;
  }
  if (!guesses.empty()) sequence.context->truncate(static_cast<int64_t>(sequence.ids.size()) - 1);
  return {};
}

Result<int32_t> Engine::draw(Sequence& sequence, size_t row) {
  const auto start = clock_->now();
  const Result<int32_t> drawn = sequence.context->sample(sequence.sampler, row, sequence.ids);
  if (!drawn) return in_file(*model_, drawn.error());
  const auto sampled = clock_->now();
  sequence.generated.phases.sampling += sampled - start;
  sequence.generated.timeline.tokens.push_back(sampled);
  log_token(*tokenizer_, sequence.generated.ids.size() + 1, sequence.context->logits(row), *drawn);
  return *drawn;
}

void Engine::commit(Sequence& sequence, int32_t id) {
  sequence.ids.push_back(id);
  sequence.generated.ids.push_back(id);
  if (!sequence.request.use_kv_cache) sequence.context->truncate(0);
  if (!sequence.request.ignore_end && tokenizer_->is_end(id)) {
    log::event(log::Level::kInfo, kModule, "[EOS reached]");
    return finish(sequence, FinishReason::kEnd);
  }
  const telemetry::ScopedCounter counter("Engine::Detokenize");
  const auto start = clock_->now();
  sequence.output.push(id);
  sequence.generated.phases.detokenization += clock_->now() - start;
  if (sequence.output.stopped()) return finish(sequence, FinishReason::kStop);
  if (static_cast<int64_t>(sequence.generated.ids.size()) < sequence.max_new_tokens) return;
  const bool is_full = sequence.max_new_tokens < sequence.request.max_new_tokens;
  finish(sequence, is_full ? FinishReason::kContext : FinishReason::kLength);
}

void Engine::finish(Sequence& sequence, FinishReason reason) {
  Generated& generated = sequence.generated;
  generated.finish_reason = reason;
  const auto start = clock_->now();
  generated.text = sequence.output.finish();
  generated.timeline.finished = clock_->now();
  generated.phases.detokenization += *generated.timeline.finished - start;
  if (reason == FinishReason::kCancelled) {
    metrics_.add_cancelled(generated.timeline);
  } else {
    metrics_.add(generated.timeline);
  }
  release(sequence);
}

void Engine::fail(Sequence& sequence, const Error& error) {
  sequence.error = error;
  metrics_.add_failed();
  release(sequence);
}

void Engine::release(Sequence& sequence) {
  if (sequence.context) {
    metrics_.kv_residency().unpin(static_cast<int64_t>(sequence.id), clock_->now());
    spare_ = std::exchange(sequence.context, std::nullopt);
  }
  sequence.state = Sequence::State::kFinished;
  scheduler_.finish(sequence.id);
  running_.erase(std::remove(running_.begin(), running_.end(), sequence.id), running_.end());
  --n_unfinished_;
}

size_t Engine::n_generated(RequestId id) const {
  const auto found = sequences_.find(id);
  return found == sequences_.end() ? 0 : found->second.generated.ids.size();
}

int64_t Engine::n_computed(RequestId id) const {
  const auto found = sequences_.find(id);
  return found == sequences_.end() || !found->second.context ? 0 : found->second.context->length();
}

std::optional<Outcome> Engine::take(RequestId id) {
  const auto found = sequences_.find(id);
  if (found == sequences_.end() || found->second.state != Sequence::State::kFinished) return std::nullopt;
  Sequence sequence = std::move(found->second);
  sequences_.erase(found);
  if (sequence.error) return Outcome{*sequence.error, std::move(sequence.metrics)};
  return Outcome{std::move(sequence.generated), std::move(sequence.metrics)};
}

}  // namespace inferno::engine
