// Perplexity of a text under a model, and how far a model's predictions are from those of another, as the
// field measures them (llama.cpp's perplexity tool does the same):
//
// The text becomes ids, with BOS where the model wants one; special tokens spelled in it are plain text. The
// ids are cut into chunks of `context`, without overlap, the rest is dropped, and where the model wants BOS
// it takes the place of each chunk's first id. Each chunk is computed by itself, and its second half is
// scored: position p of context / 2 .. context - 2 predicts id p + 1, so that every prediction has seen at
// least context / 2 ids. Perplexity is e to the mean of -log(probability of the id that came); its error that
// of the mean (the standard error over all scored ids) times the perplexity.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/progress.h"
#include "base/result.h"
#include "model/load.h"

namespace inferno::bench {

// -log softmax(logits)[id], in double.
double negative_log_likelihood(std::span<const float> logits, int32_t id);
// Kullback-Leibler divergence of softmax(logits) from softmax(base): sum of p_base * (log p_base - log p).
double kl_divergence(std::span<const float> base, std::span<const float> logits);

// A mean and its standard error, as values come (Welford 1962).
struct Mean {
  int64_t n = 0;
  double value = 0;
  double squares = 0;  // sum of (value - mean)^2

  void add(double x);
  double error() const;  // 0 of fewer than two
};

// What -log likelihoods come to.
struct Perplexity {
  Mean nll;
  double value() const;
  double error() const;
};

// Against another model's predictions at the same positions.
struct Divergence {
  Perplexity base;             // the other model's
  std::vector<double> values;  // KL divergence at each scored position, in order
  int64_t n_same_top = 0;      // positions at which both find the same id likeliest

  Mean mean() const;
  double percentile(double share) const;  // of the values (metrics/stats.h)
};

struct PerplexityReport {
  int64_t context = 0;
  int64_t n_chunks = 0;      // measured; fewer than there are when cancelled
  int64_t n_all_chunks = 0;  // of the text, or as many as were asked for
  double seconds = 0;        // of the model alone, scoring included
  Perplexity perplexity;
  std::optional<Divergence> divergence;

  double tokens_per_second() const;
};

struct PerplexityOptions {
  int64_t context = 0;     // 0: 512, or the model's where that is less
  int64_t max_chunks = 0;  // 0: all
  DType kv_type = DType::kF16;
  size_t n_threads = 0;  // that score; 0: one per CPU. The figures are the same with any
  std::function<void(const PerplexityReport& so_far)> on_chunk;
  ProgressFn progress;  // within each chunk, of which the base's pass is the first half
  CancelFn cancelled;
  const Clock* clock = &steady_clock();
};

// With `base`, the divergence from it too. Besides the models, the logits of one chunk's second half are in
// memory (of `base`), and of 64 positions. A cancelled measurement is what was measured until then. Errors:
// kInvalidArgument when the context is below 4 or more than a model's, when the text is shorter than a chunk,
// and when the two models' vocabularies differ; those of engine::prompt_logits.
Result<PerplexityReport> measure_perplexity(const model::LoadedModel& loaded, std::string_view text,
                                            const PerplexityOptions& options = {},
                                            const model::LoadedModel* base = nullptr);

}  // namespace inferno::bench
