// Generation of one request from prompt ids to text, greedy or sampled: an Engine that has it to itself.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/cancel.h"
#include "base/progress.h"
#include "base/result.h"
#include "engine/engine.h"

namespace inferno::engine {

// Runs the request. `metrics` receives one record per forward pass: the prompt first, then one for each
// further token, also when it ends in an error; `serving`, if given, becomes the engine's metrics.
// `on_prompt` is called after each chunk of a prompt longer than kPrefillChunk, but the last, with its tokens
// so far. Errors: those of Engine::submit and Engine::take.
Result<Generated> generate(model::Model& model, std::shared_ptr<const tokenizer::Tokenizer> tokenizer,
                           const Request& request, metrics::Metrics& metrics, const OnText& on_text = {},
                           const std::atomic<bool>* cancelled = nullptr,
                           metrics::ServingMetrics* serving = nullptr, const ProgressFn& on_prompt = {});

// Greedy: the likeliest token at each step, until an end-of-sequence token or max_new_tokens. Prompt and new
// ids.
Result<std::vector<int32_t>> greedy_generate(model::Model& model,
                                             std::shared_ptr<const tokenizer::Tokenizer> tokenizer,
                                             std::span<const int32_t> prompt_ids, int64_t max_new_tokens,
                                             metrics::Metrics& metrics);

// Logits of a prompt's positions from first_position on, a chunk of positions at a time: (n_positions, vocab)
// in order. `cancelled` is asked before each layer of a chunk; `progress` hears of the tokens after each.
using OnLogits = std::function<Status(std::span<const float> logits, int64_t n_positions)>;
Status prompt_logits(model::Model& model, std::span<const int32_t> prompt_ids, DType kv_type,
                     const OnLogits& on_logits, int64_t first_position = 0, const CancelFn& cancelled = {},
                     const ProgressFn& progress = {});

}  // namespace inferno::engine
