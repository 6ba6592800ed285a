// Sequence: a request on its way through the engine: WAITING, then RUNNING, then FINISHED.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/context.h"
#include "engine/request.h"
#include "engine/scheduler.h"
#include "engine/speculation.h"
#include "engine/text_output.h"
#include "metrics/metrics.h"
#include "sampling/sampler.h"

namespace inferno::engine {

// What became of a request, and its forward passes.
struct Outcome {
  Result<Generated> generated;
  metrics::Metrics metrics;
};

struct Sequence {
  enum class State { kWaiting, kRunning, kFinished };

  Sequence(RequestId request_id, Request what, std::shared_ptr<const tokenizer::Tokenizer> tokenizer,
           OnText on_text, CancelFn cancel_fn)
      : id(request_id),
        request(std::move(what)),
        ids(request.prompt_ids),
        sampler(request.sampling),
        output(std::move(tokenizer), request.stop, std::move(on_text)),
        cancelled(std::move(cancel_fn)) {}

  // The tokens whose keys and values are not there yet: what the coming forward pass is about.
  std::span<const int32_t> pending() const {
    return std::span(ids).subspan(static_cast<size_t>(context->length()));
  }
  // Tokens that may come after the one that the coming forward pass is sure to give.
  int64_t room_for_guesses() const { return max_new_tokens - static_cast<int64_t>(generated.ids.size()) - 1; }
  bool is_prefill() const { return generated.ids.empty(); }
  bool is_cancelled() const { return output.refused() || (cancelled && cancelled()); }

  RequestId id;
  Request request;
  State state = State::kWaiting;
  std::vector<int32_t> ids;        // the prompt's and the new ones
  int64_t max_new_tokens = 0;      // as many as the model's context has room for
  std::optional<Context> context;  // while running
  std::optional<Speculation> speculation;
  sampling::Sampler sampler;
  TextOutput output;
  CancelFn cancelled;

  // Of the forward pass under way, which may take several steps.
  std::chrono::nanoseconds pass_time{0};
  metrics::Cost pass_cost;

  metrics::Metrics metrics;
  Generated generated;
  std::optional<Error> error;
};

}  // namespace inferno::engine
