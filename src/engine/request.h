// Request: what is asked of the engine; Generated: what came of it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/profile.h"
#include "metrics/timeline.h"
#include "sampling/sampler.h"
#include "tensor/dtype.h"

namespace inferno::engine {

struct Request {
  std::vector<int32_t> prompt_ids;
  int64_t max_new_tokens = 20;
  sampling::SamplingParams sampling;
  std::vector<std::string> stop;  // generation ends before the first of these in the text
  bool ignore_end = false;        // go on after an end-of-sequence token
  bool use_kv_cache =
      true;  // false: the whole sequence is computed anew for every token; same tokens, bit for bit
  DType kv_type = DType::kF16;  // of kv::kTypes
  bool speculate = false;       // guess tokens ahead by n-grams where it pays; same tokens, bit for bit
};

enum class FinishReason {
  kEnd,        // an end-of-sequence token
  kStop,       // a stop string
  kLength,     // max_new_tokens
  kContext,    // the model's context is full
  kCancelled,  // by the caller
};
std::string_view name(FinishReason reason);

// Tokens guessed ahead and computed, and those of them that came.
struct Guesses {
  uint64_t drafted = 0, accepted = 0;
};

struct Generated {
  std::vector<int32_t> ids;  // the end-of-sequence token included
  std::string text;          // of the ids, without end-of-sequence and without what a stop string cut off
  FinishReason finish_reason = FinishReason::kLength;
  metrics::Cost prefill_cost, decode_cost;  // of the passes together
  metrics::Timeline timeline;
  metrics::Phases phases;
  Guesses guesses;
  metrics::HeadScreenUse head_screen;
};

// Called with the next piece of the text, never empty; false ends generation.
using OnText = std::function<bool(std::string_view text)>;

}  // namespace inferno::engine
