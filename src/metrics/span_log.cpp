#include "metrics/span_log.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <new>
#include <set>
#include <thread>

namespace inferno::telemetry {

// The thread alone writes spans and raises `count`; the log reads spans below it, and resets it only at the
// thread's own call.
class SpanLog::ThreadBuffer {
 public:
  ThreadBuffer() : thread(::gettid()), is_main(::gettid() == ::getpid()) { SpanLog::instance().add(*this); }
  ~ThreadBuffer() { SpanLog::instance().remove(*this); }
  ThreadBuffer(const ThreadBuffer&) = delete;
  ThreadBuffer& operator=(const ThreadBuffer&) = delete;

  std::string name() const {
    std::array<char, 16> text{};  // the system's limit
    if (is_main || pthread_getname_np(handle, text.data(), text.size()) != 0) return is_main ? "main" : "";
    return text.data();
  }

  static constexpr size_t kSpans = 256;
  const int thread;
  const bool is_main;
  const pthread_t handle = ::pthread_self();
  std::atomic<size_t> count = 0;
  size_t moved = 0;  // of them, to the log
  std::array<Span, kSpans> spans;
};

namespace {

// Gone, or never made for lack of memory: the thread's spans are dropped.
thread_local bool thread_ended = false;

struct Owner {
  std::unique_ptr<SpanLog::ThreadBuffer> buffer;
  ~Owner() { thread_ended = true; }
};
thread_local Owner owner;
// Without a destructor, so that reading it needs no check whether it has been made.
thread_local SpanLog::ThreadBuffer* own_buffer = nullptr;

SpanLog::ThreadBuffer* make_own_buffer() {
  if (thread_ended) return nullptr;
  try {
    owner.buffer = std::make_unique<SpanLog::ThreadBuffer>();
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  return own_buffer = owner.buffer.get();
}

void to_nanoseconds(std::vector<Span>& spans, const TickSample& first_ticks) {
  if (std::none_of(spans.begin(), spans.end(), [](const Span& span) { return span.in_ticks; })) return;
  const TickSample before = sample_ticks();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const TickScale scale(first_ticks, before, sample_ticks());
  for (Span& span : spans) {
    if (!span.in_ticks) continue;
    const int64_t start = scale.time_ns(span.start);  // both ends, so that what nests still does
    span = {span.stage, start, scale.time_ns(span.start + span.duration) - start, span.thread, false};
  }
}

}  // namespace

SpanLog& SpanLog::instance() {
  static auto* const log = new SpanLog;
  return *log;
}

void SpanLog::record(const char* stage, int64_t start, int64_t end, bool in_ticks) {
  ThreadBuffer* buffer = own_buffer != nullptr ? own_buffer : make_own_buffer();
  if (buffer == nullptr) {
    instance().dropped_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  size_t count = buffer->count.load(std::memory_order_relaxed);
  if (count == ThreadBuffer::kSpans) {
    SpanLog& log = instance();
    const std::lock_guard lock(log.mutex_);
    log.drain(*buffer);
    buffer->moved = count = 0;
    buffer->count.store(0, std::memory_order_relaxed);
  }
  buffer->spans[count] = {stage, start, end - start, buffer->thread, in_ticks};
  buffer->count.store(count + 1, std::memory_order_release);
}

void SpanLog::expect_ticks() {
  const std::lock_guard lock(mutex_);
  if (first_ticks_.ticks == 0) first_ticks_ = sample_ticks();
}

void SpanLog::add(ThreadBuffer& buffer) {
  const std::lock_guard lock(mutex_);
  buffers_.push_back(&buffer);
}

void SpanLog::remove(ThreadBuffer& buffer) {
  const std::lock_guard lock(mutex_);
  drain(buffer);
  std::erase(buffers_, &buffer);
  own_buffer = nullptr;
}

// Moves what the buffer holds to the common log, as far as there is room; the mutex is held.
void SpanLog::drain(ThreadBuffer& buffer) {
  const size_t count = buffer.count.load(std::memory_order_acquire);
  const size_t room = max_spans_ - std::min(max_spans_, spans_.size());
  size_t taken = std::min(count - buffer.moved, room);
  try {
    if (taken > 0 && !thread_names_.contains(buffer.thread)) {
      thread_names_.emplace(buffer.thread, buffer.name());
    }
    const auto first = buffer.spans.begin() + static_cast<std::ptrdiff_t>(buffer.moved);
    spans_.insert(spans_.end(), first, first + static_cast<std::ptrdiff_t>(taken));
  } catch (const std::bad_alloc&) {
    taken = 0;
  }
  dropped_.fetch_add(count - buffer.moved - taken, std::memory_order_relaxed);
  buffer.moved = count;
}

SpanLog::Snapshot SpanLog::snapshot() {
  Snapshot result;
  TickSample first_ticks;
  {
    const std::lock_guard lock(mutex_);
    for (ThreadBuffer* buffer : buffers_) drain(*buffer);
    result.spans.assign(spans_.begin(), spans_.end());
    result.thread_names = thread_names_;
    result.dropped = dropped_.load(std::memory_order_relaxed);
    first_ticks = first_ticks_;
  }
  to_nanoseconds(result.spans, first_ticks);
  // A thread's own spans are in order already, also where two close at the same time.
  std::stable_sort(result.spans.begin(), result.spans.end(),
                   [](const Span& a, const Span& b) { return a.start + a.duration < b.start + b.duration; });
  return result;
}

void SpanLog::discard(const Snapshot& written) {
  const std::lock_guard lock(mutex_);
  const size_t n = std::min(written.spans.size(), spans_.size());
  spans_.erase(spans_.begin(), spans_.begin() + static_cast<std::ptrdiff_t>(n));
  std::set<int> threads;
  for (const Span& span : spans_) threads.insert(span.thread);
  std::erase_if(thread_names_, [&](const auto& entry) { return !threads.contains(entry.first); });
  dropped_.fetch_sub(written.dropped, std::memory_order_relaxed);
}

void SpanLog::clear() {
  const std::lock_guard lock(mutex_);
  for (ThreadBuffer* buffer : buffers_) drain(*buffer);
  spans_.clear();
  thread_names_.clear();
  dropped_.store(0, std::memory_order_relaxed);
}

void SpanLog::set_limit(size_t max_spans) {
  const std::lock_guard lock(mutex_);
  max_spans_ = max_spans;
}

SpanLog::Usage SpanLog::usage() {
  const std::lock_guard lock(mutex_);
  Usage usage{spans_.size(), dropped_.load(std::memory_order_relaxed),
              spans_.size() * sizeof(Span) + buffers_.size() * sizeof(ThreadBuffer)};
  for (const ThreadBuffer* buffer : buffers_) {
    usage.spans += buffer->count.load(std::memory_order_acquire) - buffer->moved;
  }
  return usage;
}

}  // namespace inferno::telemetry
