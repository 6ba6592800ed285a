// From logits to a token. Order of the steps: repetition penalty, temperature, top-k, top-p, min-p, draw.
// Temperature 0 is greedy: penalty, then argmax (ties go to the lowest id).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"

namespace inferno::sampling {

struct SamplingParams {
  float temperature = 0.0f;         // >= 0; 0 is greedy
  int32_t top_k = 0;                // keep the k likeliest; 0 keeps all
  float top_p = 1.0f;               // in (0, 1]; keep the smallest set that reaches this probability
  float min_p = 0.0f;               // in [0, 1); drop what is less likely than min_p times the likeliest
  float repetition_penalty = 1.0f;  // > 0; CTRL (Keskar et al. 2019): logit / p if positive, else * p, for every
                                    // token of prompt + output
  uint64_t seed = 42;
};

// kInvalidArgument naming the field, the value and its range.
Status validate(const SamplingParams& params);

// Randomness is a function of (seed, position), never of a shared stream: a request's tokens do not depend on what
// else is running. Philox4x32-10 (Salmon et al., SC 2011).
struct RngKey {
  uint64_t seed;
  uint64_t position;  // of the token to be drawn, in its sequence
};
// Uniform in [0, 1), 53 bits.
double uniform(RngKey key);

struct Sample {
  int32_t token_id = 0;
  float probability = 0.0f;  // softmax of the raw logits at token_id: the model's own confidence
};

class Sampler {
 public:
  explicit Sampler(SamplingParams params) : params_(params) {}

  // logits: [vocab]. history: prompt + output so far, for the repetition penalty. kRuntime when a logit is NaN or
  // +inf, or when all are -inf: naming the token and position.
  Result<Sample> sample(std::span<const float> logits, std::span<const int32_t> history, uint64_t position);

  const SamplingParams& params() const { return params_; }

 private:
  SamplingParams params_;
  std::vector<float> adjusted_;      // [vocab], reused from call to call
  std::vector<int32_t> candidates_;
};

}  // namespace inferno::sampling
