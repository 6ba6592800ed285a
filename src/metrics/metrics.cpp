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

std::string Metrics::summary(bool with_passes) const {
  std::string text =
      fmt::format("metrics:\n time_to_first_token_ms: {}\n decode_tokens_per_second: {}\n",
                  three_decimals(time_to_first_token_ms()), three_decimals(decode_tokens_per_second()));
  if (per_forward_.empty()) return text + " per_forward_ms: —\n";

  std::vector<double> ms(per_forward_.size());
  std::transform(per_forward_.begin(), per_forward_.end(), ms.begin(), milliseconds);
  const auto [min, max] = std::minmax_element(ms.begin(), ms.end());
  const double mean = std::accumulate(ms.begin(), ms.end(), 0.0) / static_cast<double>(ms.size());
  text +=
      fmt::format(" per_forward_ms: min {:.3f} max {:.3f} mean {:.3f} (n={})\n", *min, *max, mean, ms.size());
  if (!with_passes) return text;
  for (size_t i = 0; i < ms.size(); ++i) {
    text += fmt::format(" forward {}: {:.3f} ms\n", i + 1, ms[i]);
  }
  return text;
}

void Metrics::print_summary() const {
  const std::string text = summary();
  std::fwrite(text.data(), 1, text.size(), stdout);
}

}  // namespace inferno::metrics
