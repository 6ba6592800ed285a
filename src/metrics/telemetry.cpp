#include "metrics/telemetry.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/environment.h"
#include "base/json.h"
#include "base/text.h"
#include "metrics/span_log.h"
#include "metrics/stats.h"

namespace inferno::telemetry {

#ifdef INFENG_ENABLE_TELEMETRY
std::atomic<bool> internal::on = true;
#else
std::atomic<bool> internal::on = false;
#endif

std::atomic<bool> internal::ticking = false;

namespace {

std::atomic<const Clock*> replaced_clock = nullptr;

// Held from a snapshot until what it shows is forgotten, so that nothing is forgotten twice.
std::mutex flushing;

double microseconds(int64_t ns) {
  return static_cast<double>(ns) / 1e3;
}

int64_t nanoseconds(std::chrono::steady_clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

// A field of a CSV row (RFC 4180).
std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

// Hands text to a file in large pieces.
class TextFile {
 public:
  explicit TextFile(const AppendFn& append) : append_(append) {}

  template <class... Args>
  Status add(fmt::format_string<Args...> format, Args&&... args) {
    constexpr size_t kPiece = size_t{1} << 16;
    text_ += fmt::format(format, std::forward<Args>(args)...);
    return text_.size() < kPiece ? Status() : flush();
  }
  Status flush() {
    const Status status = append_(std::as_bytes(std::span(text_)));
    text_.clear();
    return status;
  }

 private:
  const AppendFn& append_;
  std::string text_;
};

Status write_csv_rows(const SpanLog::Snapshot& log, const AppendFn& append) {
  TextFile file(append);
  TRY(file.add("stage,elapsed_us\n"));
  for (const Span& span : log.spans) {
    TRY(file.add("{},{:.3f}\n", csv_field(span.stage), microseconds(span.duration)));
  }
  if (log.dropped > 0) TRY(file.add("telemetry::dropped_spans,{}\n", log.dropped));
  return file.flush();
}

// {"ph":"M"}: names for the viewer's rows.
Status write_names(const SpanLog::Snapshot& log, TextFile& file) {
  const auto name = [&](const char* what, int thread, std::string_view text) {
    return file.add(R"({{"ph":"M","pid":{},"tid":{},"name":"{}","args":{{"name":{}}}}})", ::getpid(), thread,
                    what, json_text(std::string(text)));
  };
  TRY(name("process_name", ::getpid(), "inferno"));
  for (const auto& [thread, text] : log.thread_names) {
    TRY(file.add(",\n"));
    TRY(name("thread_name", thread, text));
  }
  return {};
}

Status write_events(const SpanLog::Snapshot& log, const AppendFn& append) {
  TextFile file(append);
  TRY(file.add("[\n"));
  TRY(write_names(log, file));
  double last = 0;
  for (const Span& span : log.spans) {
    const double start = microseconds(span.start);
    const double duration = microseconds(span.duration);
    last = start + duration;
    TRY(
        file.add(",\n"
                 R"({{"ph":"X","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f},"name":{}}})",
                 ::getpid(), span.thread, start, duration, json_text(std::string(span.stage))));
  }
  if (log.dropped > 0) {
    TRY(
        file.add(",\n"
                 R"({{"ph":"i","s":"g","pid":{},"tid":{},"ts":{:.3f},"name":"{} spans dropped"}})",
                 ::getpid(), ::getpid(), last, log.dropped));
  }
  TRY(file.add("\n]\n"));
  return file.flush();
}

}  // namespace

void set_enabled(bool on) {
  if (on && replaced_clock.load(std::memory_order_acquire) == nullptr && has_tick_counter()) {
    SpanLog::instance().expect_ticks();
    internal::ticking.store(true, std::memory_order_relaxed);
  }
  internal::on.store(on, std::memory_order_relaxed);
}

Status configure_from_environment() {
  constexpr const char* kVariable = "INFENG_ENABLE_TELEMETRY";
  TRY_ASSIGN(const std::optional<bool> on, environment::get_switch(kVariable));
  set_enabled(on.value_or(enabled()));
  return {};
}

int64_t internal::now_ns() {
  const Clock* clock = replaced_clock.load(std::memory_order_acquire);
  return nanoseconds(clock != nullptr ? clock->now() : std::chrono::steady_clock::now());
}

void set_clock(const Clock& clock) {
  internal::ticking.store(false, std::memory_order_relaxed);
  replaced_clock.store(&clock == &steady_clock() ? nullptr : &clock, std::memory_order_release);
}

void record(const char* stage, int64_t start, int64_t end) {
  SpanLog::record(stage, start, end, internal::ticking.load(std::memory_order_relaxed));
}

void record(const char* stage, std::chrono::steady_clock::time_point start,
            std::chrono::steady_clock::time_point end) {
  SpanLog::record(stage, nanoseconds(start), nanoseconds(end), false);
}

Status flush_csv(const std::string& path) {
  const std::lock_guard lock(flushing);
  const SpanLog::Snapshot log = SpanLog::instance().snapshot();
  TRY(make_parent_folder(path));
  TRY(write_file_atomically(path, [&](const AppendFn& append) { return write_csv_rows(log, append); }));
  SpanLog::instance().discard(log);
  return {};
}

Status write_trace(const std::string& path) {
  const SpanLog::Snapshot log = SpanLog::instance().snapshot();
  TRY(make_parent_folder(path));
  return write_file_atomically(path, [&](const AppendFn& append) { return write_events(log, append); });
}

std::vector<StageSummary> summarize() {
  std::map<std::string_view, std::vector<double>> by_stage;
  const SpanLog::Snapshot log = SpanLog::instance().snapshot();
  for (const Span& span : log.spans) by_stage[span.stage].push_back(microseconds(span.duration));
  std::vector<StageSummary> stages;
  for (const auto& [stage, durations] : by_stage) {
    const metrics::Summary summary = metrics::summarize(durations).value();
    stages.push_back({std::string(stage), summary.n, summary.mean * static_cast<double>(summary.n),
                      summary.p50, summary.p95});
  }
  std::stable_sort(stages.begin(), stages.end(),
                   [](const StageSummary& a, const StageSummary& b) { return a.total_us > b.total_us; });
  return stages;
}

Usage usage() {
  const SpanLog::Usage usage = SpanLog::instance().usage();
  return {usage.spans, usage.dropped, usage.bytes};
}

void clear() {
  const std::lock_guard lock(flushing);
  SpanLog::instance().clear();
}

void set_max_spans(size_t max_spans) {
  SpanLog::instance().set_limit(max_spans);
}

}  // namespace inferno::telemetry
