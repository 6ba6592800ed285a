// Telemetry: how long the stages of the hot paths take, span by span.
//
//   telemetry::ScopedCounter counter("Scheduler::DispatchNext");   // until the end of the scope
//   telemetry::flush_csv("reports/runtime_metrics.csv");           // stage,elapsed_us
//
// Off, a scope costs one relaxed load. On, it costs two readings of the processor's counter, and each thread
// records into a buffer of its own without a lock; at most kMaxSpans spans (32 MiB) are kept, further ones
// are counted as dropped, and every output says how many.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/tick_counter.h"

namespace inferno::telemetry {

namespace internal {
extern std::atomic<bool> on;
extern std::atomic<bool> ticking;  // spans are measured in ticks, else in nanoseconds
int64_t now_ns();
}  // namespace internal

// At start as the CMake option INFENG_ENABLE_TELEMETRY says, which is off unless set.
inline bool enabled() {
  return internal::on.load(std::memory_order_relaxed);
}
void set_enabled(bool on);
// Off and on as INFENG_ENABLE_TELEMETRY=0 and =1 say; unset changes nothing, anything else is
// kInvalidArgument.
Status configure_from_environment();

// The time that spans are measured with, in a unit of its own (base/tick_counter.h).
inline int64_t now() {
  return internal::ticking.load(std::memory_order_relaxed) ? read_ticks() : internal::now_ns();
}
// Measures with `clock`, for tests; it must outlive its use. No scope may be open.
void set_clock(const Clock& clock);

// A span whose begin and end the caller has read already. `stage` is a string literal.
void record(const char* stage, int64_t start, int64_t end);  // of now()
void record(const char* stage, std::chrono::steady_clock::time_point start,
            std::chrono::steady_clock::time_point end);

// Times its scope, if telemetry is on when the scope begins; a null stage records nothing.
class ScopedCounter {
 public:
  explicit ScopedCounter(const char* stage) : stage_(enabled() ? stage : nullptr) {
    if (stage_ != nullptr) start_ = now();
  }
  ~ScopedCounter() {
    if (stage_ != nullptr) record(stage_, start_, now());
  }
  ScopedCounter(const ScopedCounter&) = delete;
  ScopedCounter& operator=(const ScopedCounter&) = delete;

 private:
  const char* stage_;
  int64_t start_ = 0;
};

// Writes `stage,elapsed_us`: a row for each closed scope in order of closing, microseconds with three
// decimals (nanoseconds); then forgets what it wrote. Were spans dropped, the last row is
// telemetry::dropped_spans and how many. The parent folder is made; the file is whole or as it was before.
// Errors: kIo; nothing is forgotten then.
Status flush_csv(const std::string& path);

// Writes the same spans for a trace viewer (Perfetto, chrome://tracing): an array of Chrome's trace events,
// "X" with pid, tid, ts and dur in microseconds, "M" for the names of process and threads, and an "i" event
// that says how many spans were dropped, if any. Forgets nothing. Errors as flush_csv.
Status write_trace(const std::string& path);

struct StageSummary {
  std::string stage;
  uint64_t count = 0;
  double total_us = 0;
  double median_us = 0;
  double p95_us = 0;
};
// Of what has been recorded and not flushed; the stage with the largest total first. A stage that contains
// others counts their time too.
std::vector<StageSummary> summarize();

struct Usage {
  size_t spans = 0;      // recorded and not flushed
  uint64_t dropped = 0;  // since the last flush
  size_t bytes = 0;      // of memory for spans
};
Usage usage();
// Forgets all spans.
void clear();

constexpr size_t kMaxSpans = size_t{1} << 20;
// Another limit than kMaxSpans.
void set_max_spans(size_t max_spans);

}  // namespace inferno::telemetry

// The name by which the metrics note calls it.
namespace infeng {
namespace telemetry = inferno::telemetry;
}
