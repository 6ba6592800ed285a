#include <algorithm>
#include <functional>

#include "base/text.h"
#include "bench/compare.h"
#include "bench/report/markdown_table.h"

namespace inferno::bench {
namespace {

// Calls f(key, metric) for each.
void for_each_metric(const Comparison& comparison,
                     const std::function<void(const std::string&, const MetricComparison&)>& f) {
  for (const ConfigComparison& config : comparison.configs) {
    for (const MetricComparison& metric : config.metrics) f(config.key, metric);
  }
}

std::vector<std::string> worse(const Comparison& comparison, double gate, bool shown) {
  std::vector<std::string> lines;
  for_each_metric(comparison, [&](const std::string& key, const MetricComparison& metric) {
    if (metric.regression <= gate || (metric.verdict == Verdict::kSlower) != shown) return;
    lines.push_back(fmt::format("{}: {} is {:.1f} % worse: {} after {}{}", escaped(key), metric.metric,
                                100 * metric.regression, fixed(metric.b.p50, 2), fixed(metric.a.p50, 2),
                                shown ? "" : fmt::format(", perhaps by chance: {}", name(metric.verdict))));
  });
  return lines;
}

}  // namespace

std::vector<std::string> regressions(const Comparison& comparison, double gate) {
  return worse(comparison, gate, true);
}

std::vector<std::string> undecided(const Comparison& comparison, double gate) {
  return worse(comparison, gate, false);
}

std::vector<std::string> wide_spreads(const Comparison& comparison, double gate) {
  std::vector<std::string> lines;
  for_each_metric(comparison, [&](const std::string& key, const MetricComparison& metric) {
    if (metric.regression > gate) return;
    const auto width = [](const Quartiles& q) { return (q.p75 - q.p25) / q.p50; };
    const double widest = std::max(width(metric.a), width(metric.b));
    if (widest <= gate) return;
    lines.push_back(fmt::format("{}: the middle half of {} spans {:.1f} % of its median, wider than the gate",
                                escaped(key), metric.metric, 100 * widest));
  });
  return lines;
}

}  // namespace inferno::bench
