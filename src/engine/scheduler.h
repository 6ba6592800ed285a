// Scheduler: which request runs next. Pure policy over ids and times: no model, no device, no thread.
// First come, first served; at most max_running at once, at most max_waiting in the queue.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>

#include "base/clock.h"
#include "base/result.h"

namespace inferno::engine {

using RequestId = uint64_t;

class Scheduler {
 public:
  struct Limits {
    size_t max_running = 1;
    size_t max_waiting = 64;
  };
  // What a request goes through, in this order.
  enum class Stage { kEnqueue, kDispatch };

  explicit Scheduler(Limits limits, const Clock& clock = steady_clock()) : limits_(limits), clock_(&clock) {}

  // All of the ids or none: kResource when the queue has no room for all.
  Status enqueue_batch(std::span<const RequestId> ids);
  // The next request to run, which from now on is running; nullopt when none waits or max_running are.
  std::optional<RequestId> dispatch_next();
  // A request that waits or runs is done with.
  void finish(RequestId id);

  // When a request that has not finished reached a stage; nullopt if it has not yet.
  std::optional<std::chrono::steady_clock::time_point> stage_time(RequestId id, Stage stage) const;
  size_t n_waiting() const { return waiting_.size(); }
  size_t n_running() const { return times_.size() - waiting_.size(); }

 private:
  struct Times {
    std::chrono::steady_clock::time_point enqueued;
    std::optional<std::chrono::steady_clock::time_point> dispatched;
  };

  Limits limits_;
  const Clock* clock_;
  std::deque<RequestId> waiting_;
  std::map<RequestId, Times> times_;  // of all that wait or run
};

}  // namespace inferno::engine
