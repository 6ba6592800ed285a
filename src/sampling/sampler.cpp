#include "sampling/sampler.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

#include "base/check.h"
#include "metrics/telemetry.h"

namespace inferno::sampling {
namespace {

Error bad_param(std::string_view field, std::string_view range, double value) {
  return make_error(ErrorCode::kInvalidArgument, "{}: expected {}, found {}", field, range, value);
}

constexpr float kInfinity = std::numeric_limits<float>::infinity();

bool is_unusable(float logit) {
  return !(logit < kInfinity);  // NaN or +inf
}

// The highest logit; NaN or +inf if there is one. Lanes, so that the compiler makes vectors of them.
float highest_of(std::span<const float> logits) {
  constexpr size_t kLanes = 32;
  std::array<float, kLanes> best;
  best.fill(-kInfinity);
  std::array<uint32_t, kLanes> unusable{};
  size_t i = 0;
  for (; i + kLanes <= logits.size(); i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const float logit = logits[i + lane];
      best[lane] = logit > best[lane] ? logit : best[lane];
      unusable[lane] |= is_unusable(logit) ? 1u : 0u;
    }
  }
  for (; i < logits.size(); ++i) {
    best[0] = std::max(best[0], logits[i]);
    unusable[0] |= is_unusable(logits[i]) ? 1u : 0u;
  }
  if (std::find(unusable.begin(), unusable.end(), 1u) != unusable.end()) return kInfinity;
  return *std::max_element(best.begin(), best.end());
}

// The index of the highest logit, the lowest such index; or what makes the logits unusable.
Result<size_t> find_highest(std::span<const float> logits, uint64_t position) {
  const float highest = highest_of(logits);
  if (is_unusable(highest)) {
    const auto i =
        static_cast<size_t>(std::find_if(logits.begin(), logits.end(), is_unusable) - logits.begin());
    return make_error(ErrorCode::kRuntime,
                      "position {}: the logit of token {} is {}, expected a finite number; `inferno "
                      "inspect --check-tensors` finds damaged weights (and, with --repack-cache, those of a "
                      "cache), --kv-type f32 rules out keys and values beyond F16",
                      position, i, std::isnan(logits[i]) ? "NaN" : "+inf");
  }
  if (highest == -kInfinity) {
    return make_error(ErrorCode::kRuntime,
                      "position {}: all logits of tokens 0 to {} are -inf, so none can follow", position,
                      logits.size() - 1);
  }
  return static_cast<size_t>(std::find(logits.begin(), logits.end(), highest) - logits.begin());
}

}  // namespace

Status validate(const SamplingParams& params) {
  // Each condition is written so that a NaN fails it.
  if (!(params.temperature >= 0 && std::isfinite(params.temperature))) {
    return bad_param("temperature", "a finite number >= 0", params.temperature);
  }
  if (params.top_k < 0) return bad_param("top_k", "0 (keep all) or more", params.top_k);
  if (!(params.top_p > 0 && params.top_p <= 1)) return bad_param("top_p", "a number in (0, 1]", params.top_p);
  if (!(params.min_p >= 0 && params.min_p < 1)) return bad_param("min_p", "a number in [0, 1)", params.min_p);
  if (!(params.repetition_penalty > 0 && std::isfinite(params.repetition_penalty))) {
    return bad_param("repetition_penalty", "a finite number > 0", params.repetition_penalty);
  }
  return {};
}

float probability(std::span<const float> logits, int32_t token_id) {
  const double shift = highest_of(logits);
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - shift);
  return static_cast<float>(std::exp(logits[static_cast<size_t>(token_id)] - shift) / sum);
}

Sampler::Sampler(const SamplingParams& params) : params_(params) {
  const Status status = validate(params);
  CHECK(status.ok(), "{}", status.error().message);
}

Result<int32_t> Sampler::sample(std::span<const float> logits, std::span<const int32_t> history,
                                uint64_t position) {
  const telemetry::ScopedCounter counter("sampling::Sample");
  CHECK(!logits.empty() && logits.size() <= std::numeric_limits<int32_t>::max(), "{} logits", logits.size());
  TRY_ASSIGN(const size_t highest, find_highest(logits, position));
  if (takes_highest()) return static_cast<int32_t>(highest);
  penalize(logits, history);
  if (params_.temperature != 0) return draw(position);
  return static_cast<int32_t>(std::max_element(penalized_.begin(), penalized_.end()) - penalized_.begin());
}

// In double, where no float divided or multiplied by a penalty, then divided by a temperature, can overflow.
void Sampler::penalize(std::span<const float> logits, std::span<const int32_t> history) {
  penalized_.assign(logits.begin(), logits.end());
  const double penalty = params_.repetition_penalty;
  if (penalty == 1) return;
  for (const int32_t id : history) {
    CHECK(id >= 0 && static_cast<size_t>(id) < logits.size(), "token {} of {}", id, logits.size());
    // From the raw logit, so that a token that stands in the history twice is penalized once.
    const double logit = logits[static_cast<size_t>(id)];
    penalized_[static_cast<size_t>(id)] = logit > 0 ? logit / penalty : logit * penalty;
  }
}

// Top-p and min-p each keep a prefix of the total order, so together they keep the shorter one; the draw
// inverts the cumulative distribution over it. Sorting goes no further than either walk gets: for a model's
// logits, a small part of the vocabulary.
int32_t Sampler::draw(uint64_t position) {
  gather_candidates();
  const double nucleus = params_.top_p * total_weight();
  // The likeliest weighs 1, so min_p is itself the bound.
  if (params_.min_p > 0)
    std::erase_if(candidates_, [&](const Candidate& c) { return c.weight < params_.min_p; });
  n_sorted_ = std::min(n_sorted_, candidates_.size());
  if (params_.top_p < 1) keep_nucleus(nucleus);

  const double threshold = uniform({params_.seed, position}) * total_weight();
  double cumulative = 0;
  int32_t id = 0;
  for (size_t rank = 0; rank < candidates_.size() && cumulative <= threshold; ++rank) {
    const Candidate& candidate = candidate_by_rank(rank);
    if (candidate.weight == 0) break;  // rounding left the sum short of the threshold; these are never drawn
    cumulative += candidate.weight;
    id = candidate.id;
  }
  return id;
}

// Every token with a finite logit, in order of ids; or with top-k the k first of the total order, sorted.
void Sampler::gather_candidates() {
  candidates_.clear();
  double highest = -std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < penalized_.size(); ++i) {
    if (!std::isfinite(penalized_[i])) continue;
    highest = std::max(highest, penalized_[i]);
    candidates_.push_back({penalized_[i], 0, static_cast<int32_t>(i)});
  }
  n_sorted_ = 0;
  const auto k = static_cast<size_t>(params_.top_k);
  if (k != 0) {
    sort_first(std::min(k, candidates_.size()));
    candidates_.resize(n_sorted_);
  }
  const double temperature = params_.temperature;
  for (Candidate& candidate : candidates_)
    candidate.weight = std::exp((candidate.logit - highest) / temperature);
}

void Sampler::keep_nucleus(double weight) {
  double sum = 0;
  size_t n = 0;
  while (n < candidates_.size() && sum < weight) sum += candidate_by_rank(n++).weight;
  candidates_.resize(n);
  n_sorted_ = n;
}

// The candidates stand in order of ids or of rank whenever this is called, so the sum's rounding is
// reproducible.
double Sampler::total_weight() const {
  double sum = 0;
  for (const Candidate& candidate : candidates_) sum += candidate.weight;
  return sum;
}

const Sampler::Candidate& Sampler::candidate_by_rank(size_t rank) {
  constexpr size_t kFirstSorted = 256;
  if (rank >= n_sorted_) sort_first(std::min(std::max(kFirstSorted, 4 * n_sorted_), candidates_.size()));
  return candidates_[rank];
}

void Sampler::sort_first(size_t n) {
  const auto from = candidates_.begin() + static_cast<std::ptrdiff_t>(n_sorted_);
  const auto to = candidates_.begin() + static_cast<std::ptrdiff_t>(n);
  if (to != candidates_.end()) std::nth_element(from, to, candidates_.end());
  std::sort(from, to);
  n_sorted_ = n;
}

}  // namespace inferno::sampling
