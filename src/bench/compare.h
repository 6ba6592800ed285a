// Two reports of the same benchmark set against each other, configuration by configuration, with as much
// confidence as the trials allow.
//
// The verdict is that of the Wilcoxon-Mann-Whitney rank-sum test (Mann and Whitney, "On a test of whether one
// of two random variables is stochastically larger than the other", 1947): two-sided at kLevel, from the
// exact permutation distribution of the ranks (ties get their mean rank), or its normal approximation with
// continuity and tie correction above kExactTrials trials on a side. It asks only whether the trials of one
// report rank above those of the other, so neither outliers nor skew of timings mislead it. Two caveats: with
// 3 trials a side only complete separation reaches the level, and of 10 comparisons of equal things one is
// called different; and trials of one run share that run's luck (page placement, clocks, neighbours), so a
// small difference deserves a second, interleaved run.
//
// The gate looks at medians alone: being unable to show a regression is no reason to pass it. Nor is having
// measured less: what A measured and B did not fails it.
//
// Where a row was cut, both are compared over the tokens that both have, and a warning says so: decode over
// the first of the steps, end to end up to the last common token's leaving the sampler.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bench/figures.h"
#include "bench/result.h"

namespace inferno::bench {

constexpr double kLevel = 0.10;
constexpr size_t kExactTrials = 20;

// The probability, if both samples came from one distribution, of ranks at least as far apart as these;
// 1 when a sample is empty. Also the least that samples of these sizes without ties can reach.
double rank_sum_p(std::span<const double> a, std::span<const double> b);
double least_rank_sum_p(size_t n_a, size_t n_b);

enum class Verdict { kFaster, kSlower, kNoDifferenceShown, kTooFewTrials };
std::string_view name(Verdict verdict);  // "faster", "slower", "no difference shown", "too few trials"

// One figure of one configuration: B against A.
struct MetricComparison {
  std::string metric;  // "E2E tok/s", "decode tok/s", "TTFT ms"
  bool higher_is_better = true;
  Quartiles a, b;
  double ratio = 1;  // b's median / a's
  double regression =
      0;  // by which share B is worse: 0.05 is 5 % fewer tok/s or 5 % more ms; negative: better
  double p = 1;
  Verdict verdict = Verdict::kNoDifferenceShown;
};

struct ConfigComparison {
  std::string key;
  std::vector<MetricComparison> metrics;
};

struct Comparison {
  std::vector<ConfigComparison> configs;
  std::vector<std::string> missing;   // one line for each figure that A measured and B did not
  std::vector<std::string> warnings;  // other machines, backends; configurations that A lacks; cut rows
};

// kInvalidArgument with the reason when models, weights' types, numbers of threads or the use of a KV cache
// differ, when a configuration of the same name asks for other lengths or sampling, or when nothing was
// measured in both.
Result<Comparison> compare(const Report& a, const Report& b);

// One line for each figure that is worse by more than `gate` (0.03: 3 %), and shown to be.
std::vector<std::string> regressions(const Comparison& comparison, double gate);
// The same of those that are not shown to be: their trials are too few or scatter too widely.
std::vector<std::string> undecided(const Comparison& comparison, double gate);
// One line for each figure that passes although its trials scatter more widely than the gate.
std::vector<std::string> wide_spreads(const Comparison& comparison, double gate);

// A row for each figure: medians, quartiles, ratio, p, verdict.
std::string comparison_table(const Comparison& comparison);

}  // namespace inferno::bench
