#include "metrics/serving_metrics.h"

#include <fmt/core.h>

#include <algorithm>

namespace inferno::metrics {
namespace {

void note(Sample& sample, const std::optional<Seconds>& value) {
  if (value) sample.add(value->count());
}

}  // namespace

void ServingMetrics::add(const Timeline& timeline) {
  ++n_requests_;
  new_tokens_ += timeline.tokens.size();
  if (timeline.enqueued) {
    first_enqueued_ = std::min(first_enqueued_.value_or(*timeline.enqueued), *timeline.enqueued);
  }
  if (timeline.finished) {
    last_finished_ = std::max(last_finished_.value_or(*timeline.finished), *timeline.finished);
  }
  note(ttft_, timeline.ttft());
  note(stil_, timeline.stil());
  note(tpot_, timeline.tpot());
  note(e2el_, timeline.e2el());
  for (const Seconds gap : timeline.itl()) itl_.add(gap.count());
  if (const auto tps = timeline.tps(); tps && !timeline.tokens.empty()) tps_.add(*tps);
}

void ServingMetrics::add_cancelled(const Timeline& timeline) {
  add(timeline);
  ++n_cancelled_;
}

std::optional<double> ServingMetrics::ttps() const {
  if (!first_enqueued_ || !last_finished_) return std::nullopt;
  const double wall = Seconds(*last_finished_ - *first_enqueued_).count();
  return wall > 0 ? static_cast<double>(new_tokens_) / wall : 0.0;
}

std::vector<ServingMetrics::Row> ServingMetrics::rows() const {
  return {{"tps", tps_.summary()},
          {"ttft_s", ttft_.summary()},
          {"stil_s", stil_.summary()},
          {"itl_s", itl_.summary()},
          {"tpot_s", tpot_.summary()},
          {"e2el_s", e2el_.summary()},
          {"kv_residency_s", kv_residency_.residencies().summary()}};
}

std::string ServingMetrics::csv() const {
  std::string text = "metric,n,mean,min,p50,p95,p99,max\n";
  for (const Row& row : rows()) {
    if (const auto& v = row.values) {
      text += fmt::format("{},{},{:.9g},{:.9g},{:.9g},{:.9g},{:.9g},{:.9g}\n", row.name, v->n, v->mean,
                          v->min, v->p50, v->p95, v->p99, v->max);
    } else {
      text += fmt::format("{},0,,,,,,\n", row.name);
    }
  }
  const auto count = [&](std::string_view name, uint64_t n) {
    text += fmt::format("{},1,{},,,,,\n", name, n);
  };
  count("n_requests", n_requests_);
  count("n_cancelled", n_cancelled_);
  count("n_failed", n_failed_);
  count("new_tokens", new_tokens_);
  const auto total = ttps();
  text += total ? fmt::format("ttps,1,{:.9g},,,,,\n", *total) : "ttps,0,,,,,,\n";
  return text;
}

}  // namespace inferno::metrics
