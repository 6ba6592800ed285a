#include "metrics/timeline.h"

namespace inferno::metrics {
namespace {

std::optional<Seconds> between(const std::optional<TimePoint>& from, const std::optional<TimePoint>& to) {
  if (!from || !to) return std::nullopt;
  return *to - *from;
}

}  // namespace

std::optional<Seconds> Timeline::ttft() const {
  if (tokens.empty()) return std::nullopt;
  return between(enqueued, tokens.front());
}

std::optional<Seconds> Timeline::stil() const {
  return between(enqueued, dispatched);
}

std::vector<Seconds> Timeline::itl() const {
  std::vector<Seconds> gaps;
  for (size_t i = 1; i < tokens.size(); ++i) gaps.push_back(tokens[i] - tokens[i - 1]);
  return gaps;
}

std::optional<Seconds> Timeline::tpot() const {
  if (tokens.size() < 2) return std::nullopt;
  return Seconds(tokens.back() - tokens.front()) / static_cast<double>(tokens.size() - 1);
}

std::optional<Seconds> Timeline::e2el() const {
  return between(enqueued, finished);
}

std::optional<double> Timeline::tps() const {
  const std::optional<Seconds> latency = e2el();
  if (!latency) return std::nullopt;
  return latency->count() > 0 ? static_cast<double>(tokens.size()) / latency->count() : 0.0;
}

}  // namespace inferno::metrics
