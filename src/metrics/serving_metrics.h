// ServingMetrics: the figures of a run over all its requests. One object feeds the JSON of the command line,
// CSV files and, in a server, its metrics endpoint.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/residency.h"
#include "metrics/sample.h"
#include "metrics/stats.h"
#include "metrics/timeline.h"

namespace inferno::metrics {

class ServingMetrics {
 public:
  // A request that has finished.
  void add(const Timeline& timeline);
  // One that was cancelled, now that it has finished: what happened to it until then counts like any other's.
  void add_cancelled(const Timeline& timeline);
  // One that ended in an error: it is counted as such and nowhere else.
  void add_failed() { ++n_failed_; }
  KvResidency& kv_residency() { return kv_residency_; }

  uint64_t n_requests() const { return n_requests_; }    // that finished, cancelled ones too
  uint64_t n_cancelled() const { return n_cancelled_; }  // of them
  uint64_t n_failed() const { return n_failed_; }        // besides them
  uint64_t new_tokens() const { return new_tokens_; }
  // Total tokens per second: new tokens of all requests / time from the first enqueued to the last finished;
  // undefined before a request has finished, 0 when that took no time.
  std::optional<double> ttps() const;

  // One figure over all requests; `values` is undefined where nothing was observed. A request without new
  // tokens has no tps. Beyond Sample::kMaxKept values the percentiles are estimates.
  struct Row {
    std::string_view name;  // "ttft_s", as in JSON and CSV
    std::optional<Summary> values;
  };
  // tps, ttft_s, stil_s, itl_s, tpot_s, e2el_s, kv_residency_s.
  std::vector<Row> rows() const;

  // "metric,n,mean,min,p50,p95,p99,max": a line for each of rows(), then n_requests, n_cancelled, n_failed,
  // new_tokens and ttps with their value as the mean. Undefined figures are empty.
  std::string csv() const;

 private:
  uint64_t n_requests_ = 0;
  uint64_t n_cancelled_ = 0;
  uint64_t n_failed_ = 0;
  uint64_t new_tokens_ = 0;
  std::optional<TimePoint> first_enqueued_, last_finished_;
  Sample tps_, ttft_, stil_, itl_, tpot_, e2el_;
  KvResidency kv_residency_;
};

}  // namespace inferno::metrics
