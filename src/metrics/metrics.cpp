#include "metrics/metrics.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <numeric>

namespace inferno::metrics {
namespace {

double milliseconds(Metrics::Duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

std::string three_decimals(std::optional<double> value) {
  return value ? fmt::format("{:.3f}", *value) : "—";
}

}  // namespace

void Metrics::make_room() {
  constexpr size_t kFirst = 64;
  if (per_forward_.size() == per_forward_.capacity())
    per_forward_.reserve(std::max(kFirst, 2 * per_forward_.size()));
}

void Metrics::record_forward_share(Duration batch_wall, size_t batch_size) {
  if (batch_size == 0) return;
  per_forward_.emplace_back(batch_wall.count() / static_cast<Duration::rep>(batch_size));
}

std::optional<double> Metrics::time_to_first_token_ms() const {
  if (per_forward_.empty()) return std::nullopt;
  return milliseconds(per_forward_.front());
}

std::optional<double> Metrics::decode_tokens_per_second() const {
  if (per_forward_.size() <= 1) return std::nullopt;
  const Duration total = std::accumulate(per_forward_.begin() + 1, per_forward_.end(), Duration::zero());
  if (total <= Duration::zero()) return 0.0;
  return static_cast<double>(per_forward_.size() - 1) / std::chrono::duration<double>(total).count();
}

std::vector<Metrics::Row> Metrics::rows(bool with_passes) const {
  std::vector<Row> rows = {{"time_to_first_token_ms", three_decimals(time_to_first_token_ms())},
                           {"decode_tokens_per_second", three_decimals(decode_tokens_per_second())},
                           {"per_forward_ms", "—"}};
  if (per_forward_.empty()) return rows;

  std::vector<double> ms(per_forward_.size());
  std::transform(per_forward_.begin(), per_forward_.end(), ms.begin(), milliseconds);
  const auto [min, max] = std::minmax_element(ms.begin(), ms.end());
  const double mean = std::accumulate(ms.begin(), ms.end(), 0.0) / static_cast<double>(ms.size());
  rows.back().value = fmt::format("min {:.3f} max {:.3f} mean {:.3f} (n={})", *min, *max, mean, ms.size());
  if (!with_passes) return rows;
  for (size_t i = 0; i < ms.size(); ++i) {
    rows.push_back({fmt::format("forward {}", i + 1), fmt::format("{:.3f} ms", ms[i])});
  }
  return rows;
}

std::string Metrics::summary() const {
  std::string text = "metrics:\n";
  for (const Row& row : rows(true)) text += fmt::format(" {}: {}\n", row.name, row.value);
  return text;
}

void Metrics::print_summary() const {
  const std::string text = summary();
  std::fwrite(text.data(), 1, text.size(), stdout);
}

}  // namespace inferno::metrics
