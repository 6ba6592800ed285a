#include "bench/speculation.h"

#include <algorithm>
#include <map>
#include <vector>

#include "engine/context.h"
#include "engine/speculation.h"
#include "sampling/sampler.h"

namespace inferno::bench {
namespace {

enum class How { kPlain, kSpeculative, kScreened };

struct ReplayRun {
  std::chrono::nanoseconds time{0};
  int64_t n_passes = 0;
  engine::Guesses guesses;
  metrics::HeadScreenUse head_screen;
};

// Writes the text from token n_prompt on.
class Writer {
 public:
  Writer(model::Model& model, engine::Context& context, std::span<const int32_t> text,
         const SpeculationOptions& options)
      : model_(model), context_(context), text_(text), options_(options) {}

  Result<ReplayRun> run(size_t n_prompt, How how) {
    engine::Speculation speculation;
    sampling::Sampler sampler({});
    ReplayRun run;
    const auto start = options_.clock->now();
    for (size_t at = n_prompt; at < text_.size(); ++run.n_passes) {
      std::vector<int32_t> tokens = {text_[at - 1]};
      if (how == How::kSpeculative) {
        const auto room = std::min(static_cast<int64_t>(text_.size() - at) - 1, model_.max_batch() - 1);
        const auto guesses = speculation.draft(text_.first(at), room);
        tokens.insert(tokens.end(), guesses.begin(), guesses.end());
      }
      // As the engine asks, except that a screen is a way of its own.
      const bool highest_only =
          how == How::kScreened || !model_.backend().has_screen(model_.weights().output);
      TRY_ASSIGN(const std::chrono::nanoseconds pass, compute(tokens, highest_only));
      run.head_screen += model_.backend().head_screen_use();
      speculation.passed(static_cast<int64_t>(tokens.size()), pass);
      run.guesses.drafted += tokens.size() - 1;
      for (size_t row = 0; row < tokens.size(); ++row) {
        // Takes the time that it takes; the text says what comes.
        TRY(context_.sample(sampler, row, text_.first(at)));
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
  Result<std::chrono::nanoseconds> compute(std::span<const int32_t> tokens, bool highest_only) {
    model_.backend().reset_counters();
    const auto start = options_.clock->now();
    TRY(context_.compute(tokens, model::Batch::Logits::kAll, options_.cancelled, highest_only));
    return options_.clock->now() - start;
  }

  model::Model& model_;
  engine::Context& context_;
  std::span<const int32_t> text_;
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
  TRY_ASSIGN(engine::Context context,
             engine::Context::create(model, options.kv_type, n, options.prompt_tokens));
  // All but the prompt's last token: the first pass is over that.
  while (context.length() < options.prompt_tokens - 1) {
    const int64_t rows = std::min(options.prompt_tokens - 1 - context.length(), model.max_batch());
    const auto chunk = text.subspan(static_cast<size_t>(context.length()), static_cast<size_t>(rows));
    TRY(context.compute(chunk, model::Batch::Logits::kNone, options.cancelled));
  }
  std::vector<How> ways = {How::kPlain, How::kSpeculative};
  if (model.backend().has_screen(model.weights().output)) ways.push_back(How::kScreened);
  std::map<How, std::vector<ReplayRun>> runs;
  Writer writer(model, context, text, options);
  for (int64_t trial = 0; trial < options.trials; ++trial) {
    if (options.on_trial) options.on_trial(trial);
    for (const How how : ways) {
      context.truncate(options.prompt_tokens - 1);
      TRY_ASSIGN(const ReplayRun run, writer.run(static_cast<size_t>(options.prompt_tokens), how));
      runs[how].push_back(run);
    }
  }
  const auto seconds = [](const ReplayRun& run) { return std::chrono::duration<double>(run.time).count(); };
  const ReplayRun with = median(runs[How::kSpeculative]);
  SpeculationReplay replay{
      options.new_tokens, with.n_passes, with.guesses, seconds(median(runs[How::kPlain])), seconds(with), {}};
  if (runs.count(How::kScreened) != 0) {
    const ReplayRun screened = median(runs[How::kScreened]);
    replay.screened = {seconds(screened), screened.head_screen};
  }
  return replay;
}

}  // namespace inferno::bench
