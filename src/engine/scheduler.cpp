#include "engine/scheduler.h"

#include <algorithm>

#include "base/check.h"
#include "metrics/telemetry.h"

namespace inferno::engine {

Status Scheduler::enqueue_batch(std::span<const RequestId> ids) {
  const telemetry::ScopedCounter counter("Scheduler::EnqueueBatch");
  if (ids.size() > limits_.max_waiting - waiting_.size()) {
    return make_error(ErrorCode::kResource, "{} requests wait already, {} more are beyond the limit of {}",
                      waiting_.size(), ids.size(), limits_.max_waiting);
  }
  const auto now = clock_->now();
  for (const RequestId id : ids) {
    const bool is_new = times_.emplace(id, Times{now, std::nullopt}).second;
    CHECK(is_new, "request {} is here already", id);
    waiting_.push_back(id);
  }
  return {};
}

std::optional<RequestId> Scheduler::dispatch_next() {
  const telemetry::ScopedCounter counter("Scheduler::DispatchNext");
  if (waiting_.empty() || n_running() >= limits_.max_running) return std::nullopt;
  const RequestId id = waiting_.front();
  waiting_.pop_front();
  times_.at(id).dispatched = clock_->now();
  return id;
}

void Scheduler::finish(RequestId id) {
  const size_t n = times_.erase(id);
  CHECK(n == 1, "request {} is not here", id);
  waiting_.erase(std::remove(waiting_.begin(), waiting_.end(), id), waiting_.end());
}

std::optional<std::chrono::steady_clock::time_point> Scheduler::stage_time(RequestId id, Stage stage) const {
  const auto found = times_.find(id);
  if (found == times_.end()) return std::nullopt;
  if (stage == Stage::kEnqueue) return found->second.enqueued;
  return found->second.dispatched;
}

}  // namespace inferno::engine
