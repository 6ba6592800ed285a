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

}  // namespace

std::vector<std::string> regressions(const Comparison& comparison, double gate) {
  std::vector<std::string> lines;
  for_each_metric(comparison, [&](const std::string& key, const MetricComparison& metric) {
    if (metric.regression <= gate) return;
    lines.push_back(fmt::format("{}: {} is {:.1f} % worse: {} after {} ({})", escaped(key), metric.metric,
                                100 * metric.regression, fixed(metric.b.p50, 2), fixed(metric.a.p50, 2),
                                name(metric.verdict)));
  });
  return lines;
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

std::string advice(const Comparison& comparison, double gate) {
  size_t failed = 0;
  size_t unshown = 0;
  for_each_metric(comparison, [&](const std::string&, const MetricComparison& metric) {
    if (metric.regression <= gate) return;
    ++failed;
    unshown += metric.verdict == Verdict::kSlower ? 0 : 1;
  });
  if (unshown == 0) return "";
  return fmt::format(
      "{} of {} regressions may be chance: the medians differ by more than the gate, and the trials are too "
      "few or scatter too widely to show it; measure A and B again in turn, with more --trials",
      unshown, failed);
}

}  // namespace inferno::bench
