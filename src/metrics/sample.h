// Sample: the values of one figure, in memory that does not grow for ever. Up to kMaxKept values all are
// kept; from then on a uniform random choice of kMaxKept among them (Vitter 1985, "Random Sampling with a
// Reservoir", algorithm R), the same one in every run.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "metrics/stats.h"

namespace inferno::metrics {

class Sample {
 public:
  static constexpr size_t kMaxKept = size_t{1} << 14;

  void add(double value);
  uint64_t n() const { return n_; }
  // All values in the order of add(), or those that were chosen.
  const std::vector<double>& kept() const { return kept_; }
  // n, mean, min and max are those of all values; percentiles those of kept(). nullopt before the first.
  std::optional<Summary> summary() const;

 private:
  uint64_t n_ = 0;
  double sum_ = 0, min_ = 0, max_ = 0;
  std::vector<double> kept_;
  std::mt19937_64 random_;  // from its default seed
};

}  // namespace inferno::metrics
