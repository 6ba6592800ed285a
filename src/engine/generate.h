// Generation: one request from prompt ids to text, greedy or sampled, streaming as it goes.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "metrics/metrics.h"
#include "metrics/profile.h"
#include "model/model.h"
#include "sampling/sampler.h"
#include "tokenizer/tokenizer.h"

namespace inferno::engine {

struct Request {
  std::vector<int32_t> prompt_ids;
  int64_t max_new_tokens = 20;
  sampling::SamplingParams sampling;
  std::vector<std::string> stop;  // generation ends before the first of these in the text
  bool ignore_end = false;        // go on after an end-of-sequence token
  bool use_kv_cache =
      true;  // false: the whole sequence is computed anew for every token; same tokens, bit for bit
  DType kv_type = DType::kF16;  // F16 or F32
};

enum class FinishReason {
  kEnd,        // an end-of-sequence token
  kStop,       // a stop string
  kLength,     // max_new_tokens
  kContext,    // the model's context is full
  kCancelled,  // by the caller
};
std::string_view name(FinishReason reason);

struct Generated {
  std::vector<int32_t> ids;  // the end-of-sequence token included
  std::string text;          // of the ids, without end-of-sequence and without what a stop string cut off
  FinishReason finish_reason = FinishReason::kLength;
  metrics::Cost decode_cost;  // of the decode passes together
};

// Called with the next piece of the text, never empty; false ends generation.
using OnText = std::function<bool(std::string_view text)>;

// Runs the request. `cancelled` takes effect before the next layer of at most 128 tokens. `metrics` receives
// one record per forward pass: the prompt first, then one for each further token. Errors: kInvalidArgument
// for an empty prompt, an id outside the vocabulary or sampling parameters out of range; kResource when
// prompt or cache do not fit; kRuntime when logits are not finite.
Result<Generated> generate(model::Model& model, std::shared_ptr<const tokenizer::Tokenizer> tokenizer,
                           const Request& request, metrics::Metrics& metrics, const OnText& on_text = {},
                           const std::atomic<bool>* cancelled = nullptr);

// Greedy: the likeliest token at each step, until an end-of-sequence token or max_new_tokens. Prompt and new
// ids.
Result<std::vector<int32_t>> greedy_generate(model::Model& model,
                                             std::shared_ptr<const tokenizer::Tokenizer> tokenizer,
                                             std::span<const int32_t> prompt_ids, int64_t max_new_tokens,
                                             metrics::Metrics& metrics);

// Logits of every position of a prompt, a chunk of positions at a time: (n_positions, vocab) in order.
using OnLogits = std::function<Status(std::span<const float> logits, int64_t n_positions)>;
Status prompt_logits(model::Model& model, std::span<const int32_t> prompt_ids, DType kv_type,
                     const OnLogits& on_logits);

}  // namespace inferno::engine
