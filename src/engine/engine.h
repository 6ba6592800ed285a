// Engine: runs requests: submit() hands one in, step() does the next piece of work, take() hands out what
// came of it. One thread calls all of them.
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "base/clock.h"
#include "engine/scheduler.h"
#include "engine/sequence.h"
#include "metrics/serving_metrics.h"
#include "model/model.h"
#include "tokenizer/tokenizer.h"

namespace inferno::engine {

// Rows of a layer between two looks at `cancelled`: a longer prompt takes several steps. 256 is what was
// fastest (docs/decisions/004): weights are unpacked, and loops entered, once for so many rows.
constexpr int64_t kPrefillChunk = 256;

class Engine {
 public:
  // The model outlives the engine.
  Engine(model::Model& model, std::shared_ptr<const tokenizer::Tokenizer> tokenizer,
         Scheduler::Limits limits = {}, const Clock& clock = steady_clock());

  // `cancelled` is asked before each layer of at most kPrefillChunk tokens.
  // Errors: kInvalidArgument for an empty prompt, an id outside the vocabulary or sampling parameters out of
  // range; kResource when the prompt is longer than the context or the queue is full.
  Result<RequestId> submit(Request request, OnText on_text = {}, CancelFn cancelled = {});
  bool has_work() const { return n_unfinished_ > 0; }
  // Does nothing without work. What goes wrong is the outcome of the request that it happened to.
  void step();
  // Tokens that a request has made so far; 0 for one that was taken.
  size_t n_generated(RequestId id) const;
  // Tokens of a running request that have gone through the model, first of all the prompt's; else 0.
  int64_t n_computed(RequestId id) const;
  // The outcome of a request that has finished, once; nullopt before. Errors in it: kResource when prompt or
  // cache do not fit, kRuntime when logits are not finite or from the device.
  std::optional<Outcome> take(RequestId id);

  const Scheduler& scheduler() const { return scheduler_; }
  // Of all requests that have finished or failed.
  const metrics::ServingMetrics& metrics() const { return metrics_; }

 private:
  void schedule();
  Status start(Sequence& sequence);
  Result<Context> make_context(DType kv_type, int64_t max_positions, int64_t prompt_length);
  Status advance(Sequence& sequence);
  std::span<const int32_t> guess(Sequence& sequence);
  Status forward(Sequence& sequence, std::span<const int32_t> tokens, model::Batch::Logits wanted);
  Status sample(Sequence& sequence, std::span<const int32_t> guesses);
  Result<int32_t> draw(Sequence& sequence, size_t row);
  void record_pass(Sequence& sequence, bool is_prefill, size_t n_tokens);
  void commit(Sequence& sequence, int32_t id);
  void finish(Sequence& sequence, FinishReason reason);
  void fail(Sequence& sequence, const Error& error);
  void release(Sequence& sequence);

  model::Model* model_;
  std::shared_ptr<const tokenizer::Tokenizer> tokenizer_;
  const Clock* clock_;
  Scheduler scheduler_;
  metrics::ServingMetrics metrics_;
  std::map<RequestId, Sequence> sequences_;  // until they are taken
  std::vector<RequestId> running_;
  // Of the request that ended last, for the next one that it is large enough for: the system has made its
  // pages already, which takes longer than to fill them.
  std::optional<Context> spare_;
  size_t n_unfinished_ = 0;
  RequestId next_id_ = 1;
};

}  // namespace inferno::engine
