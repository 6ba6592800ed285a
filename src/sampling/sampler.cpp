#include "sampling/sampler.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <optional>

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

Status check_usable(const HighestLogit& highest, size_t vocab_size, uint64_t position) {
  if (is_unusable(highest.logit)) {
    return make_error(ErrorCode::kRuntime,
                      "position {}: the logit of token {} is {}, expected a finite number; `inferno "
                      "inspect --check-tensors` finds damaged weights (and, with --repack-cache, those of "
                      "a cache), --kv-type f32 rules out keys and values beyond F16",
                      position, highest.token_id, std::isnan(highest.logit) ? "NaN" : "+inf");
  }
  if (highest.logit == -kInfinity) {
    return make_error(ErrorCode::kRuntime,
                      "position {}: all logits of tokens 0 to {} are -inf, so none can follow", position,
                      vocab_size - 1);
  }
  return {};
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
  const double shift = *std::max_element(logits.begin(), logits.end());
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
  HighestLogit highest = find_highest(logits);
  TRY(check_usable(highest, logits.size(), position));
  if (params_.repetition_penalty != 1) {
    penalize(logits, history);
    logits = penalized_;
    highest = find_highest(logits);
  }
  if (params_.temperature == 0) return highest.token_id;
  return draw(logits, highest.logit, position);
}

Result<int32_t> Sampler::sample_highest(const HighestLogit& highest, size_t vocab_size,
                                        uint64_t position) const {
  const telemetry::ScopedCounter counter("sampling::Sample");
  CHECK(takes_highest(), "temperature {}, repetition penalty {}", params_.temperature,
        params_.repetition_penalty);
  TRY(check_usable(highest, vocab_size, position));
  return highest.token_id;
}

HighestLogit Sampler::find_highest(std::span<const float> logits) {
  const auto at = [&](const float* logit) {
    return HighestLogit{static_cast<int32_t>(logit - logits.data()), *logit};
  };
  highest_of_groups_.clear();
  float highest = -kInfinity;
  size_t piece_of_highest = 0;
  for (size_t begin = 0; begin < logits.size(); begin += kPiece) {
    const size_t n = std::min(kPiece, logits.size() - begin);
    const float* const piece = logits.data() + begin;  // a span's own checks would keep it from vectors
    std::array<float, kLanes> best;
    best.fill(-kInfinity);
    std::array<uint32_t, kLanes> unusable{};
    size_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      for (size_t lane = 0; lane < kLanes; ++lane) {
        const float logit = piece[i + lane];
        best[lane] = logit > best[lane] ? logit : best[lane];
        unusable[lane] |= is_unusable(logit) ? 1u : 0u;
      }
    }
    for (size_t lane = 0; i < n; ++i, ++lane) {
      best[lane] = std::max(best[lane], piece[i]);
      unusable[lane] |= is_unusable(piece[i]) ? 1u : 0u;
    }
    if (std::find(unusable.begin(), unusable.end(), 1u) != unusable.end())
      return at(std::find_if(piece, piece + n, is_unusable));
    highest_of_groups_.insert(highest_of_groups_.end(), best.begin(), best.end());
    const float of_piece = *std::max_element(best.begin(), best.end());
    if (of_piece > highest) highest = of_piece, piece_of_highest = begin;
  }
  return at(std::find(logits.data() + piece_of_highest, logits.data() + logits.size(), highest));
}

void Sampler::penalize(std::span<const float> logits, std::span<const int32_t> history) {
  penalized_.assign(logits.begin(), logits.end());
  const double penalty = params_.repetition_penalty;
  for (const int32_t id : history) {
    CHECK(id >= 0 && static_cast<size_t>(id) < logits.size(), "token {} of {}", id, logits.size());
    // From the raw logit, so that a token that stands in the history twice is penalized once.
    const double logit = logits[static_cast<size_t>(id)];
    if (logit == -kInfinity) continue;
    constexpr double kLargest = std::numeric_limits<float>::max();
    penalized_[static_cast<size_t>(id)] =
        static_cast<float>(std::clamp(logit > 0 ? logit / penalty : logit * penalty, -kLargest, kLargest));
  }
}

// Top-p and min-p each keep a prefix of the total order, so together they keep the shorter one; the draw
// inverts the cumulative distribution over it.
int32_t Sampler::draw(std::span<const float> logits, float highest, uint64_t position) {
  const bool has_top_k = params_.top_k != 0 && static_cast<size_t>(params_.top_k) < logits.size();
  if (has_top_k) {
    keep_highest(logits, static_cast<size_t>(params_.top_k));
    logits = kept_logits_;
  }
  const auto id_of = [&](size_t i) { return has_top_k ? kept_[i] : static_cast<int32_t>(i); };
  weights_.weigh(logits, highest, params_.temperature);

  const double u = uniform({params_.seed, position});
  // Tokens less likely than that need not be told apart: top-p drops them, or a draw seldom comes to them.
  const double rest = params_.top_p < 1 ? 1 - double{params_.top_p} : params_.min_p > 0 ? 0 : 1.0 / 1024;
  const double least =
      std::max(rest * weights_.total() / static_cast<double>(logits.size()), double{params_.min_p});
  for (const double least_told_apart : {least, 0.0}) {
    weights_.fill(least_told_apart);
    const bool are_all = least_told_apart == 0;
    // Of all, what find() comes to: the other sum may round above it.
    const double total = are_all ? weights_.last().through : weights_.total();
    std::optional<RankedWeights::Place> last;
    if (params_.top_p < 1) last = weights_.find(params_.top_p * total, false);
    if (params_.min_p > 0) {
      const auto of_min_p = weights_.last_of_weight(params_.min_p);
      if (of_min_p && (!last || of_min_p->through < last->through)) last = of_min_p;
    }
    if (!last && !are_all && (params_.top_p < 1 || params_.min_p > 0)) continue;
    const auto drawn = weights_.find(u * (last ? last->through : total), true, last);
    if (drawn) return id_of(drawn->index);
  }
  return id_of(weights_.last().index);  // rounding left the sum short
}

void Sampler::keep_highest(std::span<const float> logits, size_t k) {
  // The k-th of the groups' highest is not above the k-th of all.
  float bound = -kInfinity;
  if (k <= highest_of_groups_.size()) {
    bounds_ = highest_of_groups_;
    const auto kth = bounds_.begin() + static_cast<std::ptrdiff_t>(k - 1);
    std::nth_element(bounds_.begin(), kth, bounds_.end(), std::greater<>());
    bound = *kth;
  }
  kept_.clear();
  for (size_t group = 0; group < highest_of_groups_.size(); ++group) {
    if (highest_of_groups_[group] < bound) continue;
    const size_t begin = group / kLanes * kPiece;
    const size_t end = std::min(logits.size(), begin + kPiece);
    for (size_t i = begin + group % kLanes; i < end; i += kLanes)
      if (logits[i] >= bound) kept_.push_back(static_cast<int32_t>(i));
  }
  if (kept_.size() > k) {
    const auto kth = kept_.begin() + static_cast<std::ptrdiff_t>(k);
    std::nth_element(kept_.begin(), kth, kept_.end(), [&](int32_t a, int32_t b) {
      const float x = logits[static_cast<size_t>(a)], y = logits[static_cast<size_t>(b)];
      return x != y ? x > y : a < b;
    });
    kept_.erase(kth, kept_.end());
  }
  std::sort(kept_.begin(), kept_.end());
  kept_logits_.clear();
  for (const int32_t id : kept_) kept_logits_.push_back(logits[static_cast<size_t>(id)]);
}

}  // namespace inferno::sampling
