// From logits to a token. Order of the steps: repetition penalty, temperature, top-k, top-p, min-p, draw.
// Temperature 0 is greedy: penalty, then argmax (ties go to the lowest id).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
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

  const SamplingParams& params() const { return params_; }

 private:
  // One token that may be drawn. The total order is by logit, the highest first, then by id, the lowest
  // first.
  struct Candidate {
    double logit;   // after the penalty
    double weight;  // exp((logit - highest logit) / temperature)
    int32_t id;
    bool operator<(const Candidate& other) const {
      return logit != other.logit ? logit > other.logit : id < other.id;
    }
  };

  void penalize(std::span<const float> logits, std::span<const int32_t> history);
  int32_t draw(uint64_t position);
  void gather_candidates();
  void keep_nucleus(double weight);
  double total_weight() const;
  const Candidate& candidate_by_rank(size_t rank);
  void sort_first(size_t n);

  SamplingParams params_;
  // Scratch, kept so that a step allocates nothing.
  std::vector<double> penalized_;      // [vocab]
  std::vector<Candidate> candidates_;  // the first n_sorted_ in order and before all others
  size_t n_sorted_ = 0;
};

}  // namespace inferno::sampling
