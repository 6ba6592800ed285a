// Order statistics of small samples.
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace inferno::metrics {

// The value below which the share p (0 to 1) of the sample lies, interpolated linearly between neighbours
// (the rule of NumPy's default and of R's type 7); nullopt of an empty sample.
std::optional<double> percentile(std::span<const double> sample, double p);

struct Summary {
  size_t n = 0;
  double mean = 0, min = 0, max = 0;
  double p25 = 0, p50 = 0, p75 = 0, p95 = 0, p99 = 0;
};
// nullopt of an empty sample.
std::optional<Summary> summarize(std::span<const double> sample);

}  // namespace inferno::metrics
