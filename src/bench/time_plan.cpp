#include "bench/time_plan.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace inferno::bench {
namespace {

double least_run_s(const Pace& pace, const Config& config) {
  return pace.run_s(config.prompt_tokens, std::min(config.max_new_tokens, kLeastNewTokens));
}

double full_run_s(const Pace& pace, const Config& config) {
  return pace.run_s(config.prompt_tokens, config.max_new_tokens);
}

// What the rows that get their least run take with it, and what they still want.
struct Demand {
  bool first_fits = false, all_fit = false;
  double least_s = 0, wanted_s = 0;
};

Demand admit_cheapest_first(const Pace& pace, std::span<const Config> rest, double left_s, int n_runs) {
  std::vector<const Config*> rows;
  for (const Config& config : rest) rows.push_back(&config);
  std::stable_sort(rows.begin(), rows.end(), [&](const Config* a, const Config* b) {
    return least_run_s(pace, *a) < least_run_s(pace, *b);
  });
  Demand demand;
  for (const Config* row : rows) {
    const double least = least_run_s(pace, *row);
    if (demand.least_s + least > left_s) break;
    demand.least_s += least;
    demand.wanted_s += n_runs * full_run_s(pace, *row) - least;
    demand.first_fits |= row == &rest.front();
    demand.all_fit = row == rows.back();
  }
  return demand;
}

int whole_runs(double time_s, double run_s, int most) {
  return run_s > 0 ? static_cast<int>(std::clamp(time_s / run_s, 0.0, static_cast<double>(most))) : most;
}

}  // namespace

double Pace::work(int64_t prompt_tokens, int64_t steps) const {
  const auto n = static_cast<double>(steps);
  return use_kv_cache_ ? n : n * static_cast<double>(prompt_tokens) + n * (n + 1) / 2;
}

void Pace::observe(int64_t prompt_tokens, double prompt_s, int64_t steps, double decode_s) {
  prompt_s_[prompt_tokens] = prompt_s;
  if (steps > 0) work_s_ = decode_s / work(prompt_tokens, steps);
}

double Pace::prompt_s(int64_t prompt_tokens) const {
  if (!known()) return 0;
  auto nearest = prompt_s_.lower_bound(prompt_tokens);
  const auto distance = [&](const auto& seen) { return std::abs(seen->first - prompt_tokens); };
  if (nearest == prompt_s_.end() ||
      (nearest != prompt_s_.begin() && distance(std::prev(nearest)) < distance(nearest))) {
    --nearest;
  }
  return nearest->second * static_cast<double>(prompt_tokens) / static_cast<double>(nearest->first);
}

double Pace::run_s(int64_t prompt_tokens, int64_t new_tokens) const {
  const double unit_s = work_s_ > 0 ? work_s_ : prompt_s(1);
  return prompt_s(prompt_tokens) + unit_s * work(prompt_tokens, new_tokens - 1);
}

double Pace::step_s(int64_t positions) const {
  return run_s(positions - 1, 2) - prompt_s(positions - 1);
}

RowPlan plan_row(const Pace& pace, std::span<const Config> rest, double left_s, int warmup_runs, int trials) {
  const Config& config = rest.front();
  const int n_runs = warmup_runs + trials;
  const double full = full_run_s(pace, config);
  const Demand demand = admit_cheapest_first(pace, rest, left_s, n_runs);
  RowPlan plan;
  plan.least_s = least_run_s(pace, config);
  plan.fits = demand.first_fits;
  plan.left_s = left_s - demand.least_s;
  if (!plan.fits) {
    plan.budget_s = plan.run_s = plan.least_s;
    plan.trials = 1;
    return plan;
  }
  const double wanted = n_runs * full - plan.least_s;
  const bool enough = plan.left_s >= demand.wanted_s;
  plan.budget_s = plan.least_s + (enough ? wanted + (plan.left_s - demand.wanted_s)  // nobody else wants it
                                         : plan.left_s * wanted / demand.wanted_s);
  plan.is_whole = enough && demand.all_fit;
  plan.warmup_runs = whole_runs(plan.budget_s - trials * full, full, warmup_runs);
  plan.trials = std::max(1, whole_runs(plan.budget_s, plan.least_s, trials));
  plan.run_s = plan.budget_s / (plan.warmup_runs + plan.trials);
  return plan;
}

}  // namespace inferno::bench
