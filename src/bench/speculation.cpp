#include "bench/speculation.h"

#include <algorithm>
#include <vector>

#include "engine/context.h"
#include "engine/speculation.h"
#include "sampling/sampler.h"

namespace inferno::bench {
namespace {

struct ReplayRun {
  std::chrono::nanoseconds time{0};
  int64_t n_passes = 0;
  engine::Guesses guesses;
};

// Writes the text from token n_prompt on.
class Writer {
 public:
  Writer(engine::Context& context, std::span<const int32_t> text, int64_t max_guesses,
         const SpeculationOptions& options)
      : context_(context), text_(text), max_guesses_(max_guesses), options_(options) {}

  Result<ReplayRun> run(size_t n_prompt, bool speculate) {
    engine::Speculation speculation;
    sampling::Sampler sampler({});
    ReplayRun run;
    const auto start = options_.clock->now();
    for (size_t at = n_prompt; at < text_.size(); ++run.n_passes) {
      std::vector<int32_t> tokens = {text_[at - 1]};
      if (speculate) {
        const auto room = std::min(static_cast<int64_t>(text_.size() - at) - 1, max_guesses_);
        const auto guesses = speculation.draft(text_.first(at), room);
        tokens.insert(tokens.end(), guesses.begin(), guesses.end());
      }
      TRY_ASSIGN(const std::chrono::nanoseconds pass, compute(tokens));
      speculation.passed(static_cast<int64_t>(tokens.size()), pass);
      run.guesses.drafted += tokens.size() - 1;
      const size_t vocab_size = context_.logits().size() / tokens.size();
      for (size_t row = 0; row < tokens.size(); ++row) {
        // Takes the time that it takes; the text says what comes.
        TRY(sampler.sample(context_.logits().subspan(row * vocab_size, vocab_size), text_.first(at), at));
        speculation.came(text_[at++]);
        if (row + 1 == tokens.size() || tokens[row + 1] != text_[at - 1]) break;
        ++run.guesses.accepted;
      }
      context_.truncate(static_cast<int64_t>(at) - 1);
    }
    run.time = options_.clock->now() - start;
    return run;
  }

 private:
  Result<std::chrono::nanoseconds> compute(std::span<const int32_t> tokens) {
    const auto start = options_.clock->now();
    TRY(context_.compute(tokens, model::Batch::Logits::kAll, options_.cancelled));
    return options_.clock->now() - start;
  }

  engine::Context& context_;
  std::span<const int32_t> text_;
  int64_t max_guesses_;
  const SpeculationOptions& options_;
};

ReplayRun median(std::vector<ReplayRun> runs) {
  const auto middle = runs.begin() + static_cast<std::ptrdiff_t>(runs.size() / 2);
  std::nth_element(runs.begin(), middle, runs.end(),
                   [](const ReplayRun& a, const ReplayRun& b) { return a.time < b.time; });
  return *middle;
}

}  // namespace

Status check_length(std::span<const int32_t> text, const SpeculationOptions& options) {
  const int64_t n = options.prompt_tokens + options.new_tokens;
  if (static_cast<int64_t>(text.size()) >= n) return {};
  return make_error(ErrorCode::kInvalidArgument,
                    "the text has {} tokens, expected at least {}: {} to read and {} to write", text.size(),
                    n, options.prompt_tokens, options.new_tokens);
}

Result<SpeculationReplay> replay_with_speculation(const model::LoadedModel& loaded,
                                                  std::span<const int32_t> text,
                                                  const SpeculationOptions& options) {
  TRY(check_length(text, options));
  const int64_t n = options.prompt_tokens + options.new_tokens;
  model::Model& model = *loaded.model;
  text = text.first(static_cast<size_t>(n));
  TRY(engine::check_prompt(model, text));
  TRY_ASSIGN(engine::Context context, engine::Context::create(model, options.kv_type, n));
  // All but the prompt's last token: the first pass is over that.
  while (context.length() < options.prompt_tokens - 1) {
    const int64_t rows = std::min(options.prompt_tokens - 1 - context.length(), model.max_batch());
    const auto chunk = text.subspan(static_cast<size_t>(context.length()), static_cast<size_t>(rows));
    TRY(context.compute(chunk, model::Batch::Logits::kNone, options.cancelled));
  }
  std::vector<ReplayRun> plain, speculative;
  Writer writer(context, text, model.max_batch() - 1, options);
  for (int64_t trial = 0; trial < options.trials; ++trial) {
    if (options.on_trial) options.on_trial(trial);
    for (const bool speculate : {false, true}) {
      context.truncate(options.prompt_tokens - 1);
      TRY_ASSIGN(const ReplayRun run, writer.run(static_cast<size_t>(options.prompt_tokens), speculate));
      (speculate ? speculative : plain).push_back(run);
    }
  }
  const ReplayRun without = median(plain), with = median(speculative);
  return SpeculationReplay{options.new_tokens, with.n_passes, with.guesses,
                           std::chrono::duration<double>(without.time).count(),
                           std::chrono::duration<double>(with.time).count()};
}

}  // namespace inferno::bench
