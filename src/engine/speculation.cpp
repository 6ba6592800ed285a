#include "engine/speculation.h"

#include <algorithm>

namespace inferno::engine {
namespace {

// What is assumed before anything is known: that half of the guesses hold, and that a token more costs a
// tenth of a pass.
constexpr double kFirstHitRate = 0.5;
constexpr double kFirstCostOfToken = 0.1;
// Weights of what is new in running means.
constexpr double kHitWeight = 1.0 / 16, kTimeWeight = 1.0 / 4;
// What has not been measured lately goes back to the assumption, so that one disturbed pass is not believed
// for ever.
constexpr double kForgetting = 1.0 / 256;

double first_cost(int n_draft) {
  return 1 + kFirstCostOfToken * n_draft;
}

void move(double& mean, double value, double weight) {
  mean += weight * (value - mean);
}

}  // namespace

Speculation::Speculation() {
  hit_rate_.fill(kFirstHitRate);
  for (int i = 0; i <= kMaxDraft; ++i) cost_[static_cast<size_t>(i)] = first_cost(i);
}

// Tokens to be expected of a pass with n_draft guesses, in the time of a pass over one token: one, and one
// more for each guess that holds and all before it do.
double Speculation::tokens_per_time(double hit_rate, int n_draft) const {
  double tokens = 0, all_hold = 1;
  for (int i = 0; i <= n_draft; ++i, all_hold *= hit_rate) tokens += all_hold;
  return tokens / cost_[static_cast<size_t>(n_draft)];
}

std::span<const int32_t> Speculation::draft(std::span<const int32_t> ids, int64_t max_tokens) {
  guess_ = index_.guess(ids, kMaxDraft);
  n_come_ = 0;
  if (guess_.match == 0 || pass_ns_ == 0) return {};
  const double hit_rate = hit_rate_[static_cast<size_t>(guess_.match)];
  int best = 0;
  for (int n = 1; n <= std::min<int64_t>(kMaxDraft, max_tokens); ++n) {
    if (tokens_per_time(hit_rate, n) > tokens_per_time(hit_rate, best)) best = n;
  }
  return std::span(guess_.tokens).first(static_cast<size_t>(best));
}

void Speculation::came(int32_t id) {
  if (n_come_ == guess_.tokens.size()) return;
  const bool hit = guess_.tokens[n_come_] == id;
  move(hit_rate_[static_cast<size_t>(guess_.match)], hit ? 1 : 0, kHitWeight);
  n_come_ = hit ? n_come_ + 1 : guess_.tokens.size();
}

void Speculation::passed(int64_t n_tokens, std::chrono::nanoseconds time) {
  const auto ns = static_cast<double>(time.count());
  // More tokens never take less time than one: that one was disturbed.
  if (n_tokens > 1) pass_ns_ = std::min(pass_ns_, ns);
  for (int i = 1; i <= kMaxDraft; ++i) {
    double& cost = cost_[static_cast<size_t>(i)];
    if (i == n_tokens - 1 && pass_ns_ > 0) {
      move(cost, ns / pass_ns_, kTimeWeight);
    } else {
      move(cost, first_cost(i), kForgetting);
    }
  }
  if (n_tokens == 1) move(pass_ns_, ns, pass_ns_ == 0 ? 1 : kTimeWeight);
}

}  // namespace inferno::engine
