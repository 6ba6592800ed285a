#include "metrics/stats.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace inferno::metrics {
namespace {

double of_sorted(std::span<const double> sorted, double p) {
  const double rank = std::clamp(p, 0.0, 1.0) * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(std::floor(rank));
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (rank - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

std::optional<double> percentile(std::span<const double> sample, double p) {
  if (sample.empty()) return std::nullopt;
  std::vector<double> sorted(sample.begin(), sample.end());
  std::sort(sorted.begin(), sorted.end());
  return of_sorted(sorted, p);
}

std::optional<Summary> summarize(std::span<const double> sample) {
  if (sample.empty()) return std::nullopt;
  std::vector<double> sorted(sample.begin(), sample.end());
  std::sort(sorted.begin(), sorted.end());
  const double sum = std::accumulate(sorted.begin(), sorted.end(), 0.0);
  const auto p = [&](double share) { return of_sorted(sorted, share); };
  return Summary{sorted.size(),  sum / static_cast<double>(sorted.size()),
                 sorted.front(), sorted.back(),
                 p(0.25),        p(0.50),
                 p(0.75),        p(0.95),
                 p(0.99)};
}

}  // namespace inferno::metrics
