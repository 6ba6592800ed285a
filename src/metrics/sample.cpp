#include "metrics/sample.h"

#include <algorithm>

namespace inferno::metrics {

void Sample::add(double value) {
  min_ = n_ == 0 ? value : std::min(min_, value);
  max_ = n_ == 0 ? value : std::max(max_, value);
  sum_ += value;
  ++n_;
  if (kept_.size() < kMaxKept) {
    kept_.push_back(value);
  } else if (const uint64_t at = random_() % n_; at < kMaxKept) {
    kept_[at] = value;
  }
}

std::optional<Summary> Sample::summary() const {
  std::optional<Summary> summary = summarize(kept_);
  if (!summary) return std::nullopt;
  summary->n = n_;
  summary->mean = sum_ / static_cast<double>(n_);
  summary->min = min_;
  summary->max = max_;
  return summary;
}

}  // namespace inferno::metrics
