// What guessing ahead (engine/speculation.h) gains on a text, and what the screen of the LM head does, if
// there is one: the text is replayed as if the model had written it, with each and without, so that any kind
// of text can be measured with any model, whatever that would say.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/result.h"
#include "engine/request.h"
#include "model/load.h"

namespace inferno::bench {

struct SpeculationOptions {
  int64_t prompt_tokens = 256;  // of the text, that are read
  int64_t new_tokens = 256;     // and that are written after them
  int64_t trials = 3;           // of each, in turn
  DType kv_type = DType::kF16;
  std::function<void(int64_t trial)> on_trial;
  CancelFn cancelled;
  const Clock* clock = &steady_clock();
};

struct SpeculationReplay {
  int64_t new_tokens = 0;
  int64_t n_passes = 0;     // with guesses, in the median run
  engine::Guesses guesses;  // likewise
  double plain_s = 0;       // medians, of decoding and sampling
  double speculative_s = 0;
  // Without guesses, by the screen of the LM head: where the backend has one.
  struct Screened {
    double s = 0;
    metrics::HeadScreenUse use;  // in the median run
  };
  std::optional<Screened> screened;

  double gain() const { return plain_s / speculative_s; }
};

// kInvalidArgument for a text of fewer than prompt_tokens + new_tokens tokens.
Status check_length(std::span<const int32_t> text, const SpeculationOptions& options);

// Errors: those of check_length(), kCancelled; those of
// engine::Context.
Result<SpeculationReplay> replay_with_speculation(const model::LoadedModel& loaded,
                                                  std::span<const int32_t> text,
                                                  const SpeculationOptions& options = {});

}  // namespace inferno::bench
