// CancelFn: asked now and then by long work whether it should end early.
#pragma once

#include <atomic>
#include <functional>

namespace inferno {

// Empty: never.
using CancelFn = std::function<bool()>;

// Of a flag that a signal handler or another thread sets; null is never.
inline CancelFn cancel_by(const std::atomic<bool>* flag) {
  if (flag == nullptr) return {};
  return [flag] { return flag->load(std::memory_order_relaxed); };
}

}  // namespace inferno
