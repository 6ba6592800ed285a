// The rank-sum test of compare.h.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "bench/compare.h"

namespace inferno::bench {
namespace {

// Twice the rank of each value of both samples, a's first, so that mean ranks of ties are whole numbers.
std::vector<size_t> doubled_ranks(std::span<const double> a, std::span<const double> b) {
  std::vector<double> values(a.begin(), a.end());
  values.insert(values.end(), b.begin(), b.end());
  std::vector<double> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  std::vector<size_t> ranks;
  for (const double value : values) {
    const auto [first, last] = std::equal_range(sorted.begin(), sorted.end(), value);
    // Ranks first + 1 … last, of which the mean is (first + 1 + last) / 2.
    ranks.push_back(static_cast<size_t>(first - sorted.begin()) + 1 +
                    static_cast<size_t>(last - sorted.begin()));
  }
  return ranks;
}

// Of all ways to choose n of the ranks, the share whose sum is at least as far from the mean as `observed`.
double exact_p(const std::vector<size_t>& ranks, size_t n, size_t observed) {
  const size_t total = std::accumulate(ranks.begin(), ranks.end(), size_t{0});
  // ways[k][s]: in how many ways k of the ranks seen so far sum to s.
  std::vector<std::vector<double>> ways(n + 1, std::vector<double>(total + 1, 0.0));
  ways[0][0] = 1;
  for (const size_t rank : ranks) {
    for (size_t k = n; k > 0; --k) {
      for (size_t s = total; s >= rank; --s) ways[k][s] += ways[k - 1][s - rank];
    }
  }
  const double mean = static_cast<double>(total) * static_cast<double>(n) / static_cast<double>(ranks.size());
  const double distance = std::abs(static_cast<double>(observed) - mean);
  double far = 0;
  for (size_t s = 0; s <= total; ++s) {
    if (std::abs(static_cast<double>(s) - mean) >= distance - 1e-9) far += ways[n][s];
  }
  return far / std::accumulate(ways[n].begin(), ways[n].end(), 0.0);
}

double normal_p(const std::vector<size_t>& ranks, size_t n, size_t observed) {
  const auto all = static_cast<double>(ranks.size());
  const auto own = static_cast<double>(n);
  // The variance of a sum of n ranks drawn without replacement; ties make it smaller by themselves.
  double mean = 0;
  for (const size_t rank : ranks) mean += static_cast<double>(rank) / 2 / all;
  double variance = 0;
  for (const size_t rank : ranks) variance += std::pow(static_cast<double>(rank) / 2 - mean, 2) / (all - 1);
  variance *= own * (all - own) / all;
  if (variance <= 0) return 1;
  constexpr double kContinuity = 0.5;
  const double distance = std::abs(static_cast<double>(observed) / 2 - own * mean) - kContinuity;
  return std::erfc(std::max(distance, 0.0) / std::sqrt(2 * variance));
}

}  // namespace

double rank_sum_p(std::span<const double> a, std::span<const double> b) {
  if (a.empty() || b.empty()) return 1;
  const std::vector<size_t> ranks = doubled_ranks(a, b);
  const auto last = ranks.begin() + static_cast<std::ptrdiff_t>(a.size());
  const size_t observed = std::accumulate(ranks.begin(), last, size_t{0});
  return std::max(a.size(), b.size()) <= kExactTrials ? exact_p(ranks, a.size(), observed)
                                                      : normal_p(ranks, a.size(), observed);
}

double least_rank_sum_p(size_t n_a, size_t n_b) {
  std::vector<double> a(n_a);
  std::vector<double> b(n_b);
  std::iota(a.begin(), a.end(), 0.0);
  std::iota(b.begin(), b.end(), static_cast<double>(n_a));
  return rank_sum_p(a, b);
}

}  // namespace inferno::bench
