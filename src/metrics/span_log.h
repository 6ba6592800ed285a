// SpanLog: the spans that telemetry records, from the threads that record them to whoever writes them out.
// Each thread fills a small buffer of its own without a lock; a full one is moved to the common log.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/tick_counter.h"

namespace inferno::telemetry {

struct Span {
  const char* stage = nullptr;
  int64_t start = 0;     // nanoseconds of the steady clock, or ticks
  int64_t duration = 0;  // in the same
  int thread = 0;        // as the system numbers it
  bool in_ticks = false;
};

class SpanLog {
 public:
  // The process's one log; never destroyed, since threads record until the very end.
  static SpanLog& instance();

  // Of the calling thread. A span for which there is no room (the limit, or memory) is counted as dropped.
  static void record(const char* stage, int64_t start, int64_t end, bool in_ticks);

  // Spans in ticks may come: the longer ago this was, the better their unit is known.
  void expect_ticks();

  struct Snapshot {
    std::vector<Span> spans;  // in order of closing, none in ticks
    std::map<int, std::string> thread_names;
    uint64_t dropped = 0;
  };
  // A copy of what is there.
  Snapshot snapshot();
  // Forgets what `written` shows; spans closed since then stay.
  void discard(const Snapshot& written);
  // Forgets everything.
  void clear();

  // How many spans the common log holds at most.
  void set_limit(size_t max_spans);

  struct Usage {
    size_t spans = 0;
    uint64_t dropped = 0;
    size_t bytes = 0;  // of the log and the threads' buffers
  };
  Usage usage();

  // Of the calling thread, recorded from now on.
  class ThreadBuffer;

 private:
  void add(ThreadBuffer& buffer);
  void remove(ThreadBuffer& buffer);
  void drain(ThreadBuffer& buffer);

  std::mutex mutex_;  // guards what follows, and of each buffer how much of it has been moved
  std::vector<ThreadBuffer*> buffers_;
  std::deque<Span> spans_;
  std::map<int, std::string> thread_names_;  // of the threads in spans_
  size_t max_spans_ = size_t{1} << 20;
  TickSample first_ticks_;  // when they were expected first
  std::atomic<uint64_t> dropped_ = 0;
};

}  // namespace inferno::telemetry
