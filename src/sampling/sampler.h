// From logits to a token. Order of the steps: repetition penalty, temperature, top-k, top-p, min-p, draw.
// Temperature 0 is greedy: penalty, then argmax (ties go to the lowest id).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "sampling/ranked_weights.h"
#include "sampling/rng.h"

namespace inferno::sampling {

struct SamplingParams {
  float temperature = 0.0f;  // >= 0; 0 is greedy
  int32_t top_k = 0;         // keep the k likeliest; 0 keeps all
  float top_p = 1.0f;        // in (0, 1]; keep the smallest set that reaches this share of the probability
                             // (nucleus sampling, Holtzman et al. 2020)
  float min_p = 0.0f;        // in [0, 1); drop what is less likely than min_p times the likeliest
                             // (Nguyen et al. 2024)
  float repetition_penalty = 1.0f;  // > 0; CTRL (Keskar et al. 2019): logit / p if positive, else * p, once
                                    // for every token of prompt + output
  uint64_t seed = 42;
};

// kInvalidArgument naming the field, the value and its range.
Status validate(const SamplingParams& params);

// softmax(logits)[token_id]: the model's own confidence, whatever the parameters. logits: [vocab], one of
// them finite, none NaN or +inf.
float probability(std::span<const float> logits, int32_t token_id);

// What a greedy token depends on: of a row's logits the highest, of equals the one of the lowest token; but
// the first that is NaN or +inf where there are such.
struct HighestLogit {
  int32_t token_id;
  float logit;
};

class Sampler {
 public:
  // CHECKs that validate(params) is ok.
  explicit Sampler(const SamplingParams& params);

  // logits: [vocab], not empty. history: prompt + output so far, for the repetition penalty; CHECKs that each
  // id is in [0, vocab). A function of its arguments alone, whatever was sampled before. kRuntime when a
  // logit is NaN or +inf, or when all are -inf: naming the token and position.
  Result<int32_t> sample(std::span<const float> logits, std::span<const int32_t> history, uint64_t position);

  // Whether that is the highest logit's token, so that the other logits may as well be -inf.
  bool takes_highest() const { return params_.temperature == 0 && params_.repetition_penalty == 1; }
  // Then what sample() has, errors included, of vocab_size logits with that highest one. CHECKs
  // takes_highest().
  Result<int32_t> sample_highest(const HighestLogit& highest, size_t vocab_size, uint64_t position) const;

  const SamplingParams& params() const { return params_; }

 private:
  // The highest of logits in groups that lie beside each other, so that finding the k highest of all goes
  // through few groups: of every kLanes-th logit in pieces of kPiece.
  static constexpr size_t kLanes = 32, kPiece = 64 * kLanes;

  HighestLogit find_highest(std::span<const float> logits);
  void penalize(std::span<const float> logits, std::span<const int32_t> history);
  int32_t draw(std::span<const float> logits, float highest, uint64_t position);
  // The k highest, of equals the first, 0 < k < logits.size(), in order of ids.
  void keep_highest(std::span<const float> logits, size_t k);

  SamplingParams params_;
  // Scratch, kept so that a step allocates nothing.
  std::vector<float> highest_of_groups_;  // as of find_highest()
  std::vector<float> bounds_;
  std::vector<float> penalized_;  // (vocab)
  std::vector<int32_t> kept_;     // ids, with top-k
  std::vector<float> kept_logits_;
  RankedWeights weights_;
};

}  // namespace inferno::sampling
