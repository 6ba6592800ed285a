// Speculation: how many tokens to guess ahead. A forward pass over one token and guesses for those after it
// takes little longer than over the one, as memory gives the weights once for all of them; each guess that
// turns out to be what the model says is a pass saved. It is only a matter of time: what is generated is the
// same.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/ngram_index.h"

namespace inferno::engine {

class Speculation {
 public:
  static constexpr int kMaxDraft = 15;

  Speculation();

  // At most max_tokens guesses that follow `ids` (the whole sequence so far), as many as are expected to pay:
  // none where no number does.
  std::span<const int32_t> draft(std::span<const int32_t> ids, int64_t max_tokens);
  // The token that came, whether it was guessed or not: once for each.
  void came(int32_t id);
  // A pass over n_tokens took so long.
  void passed(int64_t n_tokens, std::chrono::nanoseconds time);

 private:
  double tokens_per_time(double hit_rate, int n_draft) const;

  NgramIndex index_;
  NgramIndex::Guess guess_;
  size_t n_come_ = 0;  // tokens of the guess that came
  // Of tokens guessed after a match of each length, how many came: learnt also from guesses that were not
  // computed.
  std::array<double, NgramIndex::kLongest + 1> hit_rate_;
  // Time of a pass over i + 1 tokens, in passes over one.
  std::array<double, kMaxDraft + 1> cost_;
  double pass_ns_ = 0;  // over one token
};

}  // namespace inferno::engine
