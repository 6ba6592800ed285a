#include "base/thread_pool.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <system_error>

namespace inferno {
namespace {

thread_local bool inside_loop = false;

}  // namespace

struct ThreadPool::Loop {
  size_t n;
  const std::function<void(size_t)>& fn;
  std::atomic<size_t> next{0};
  std::mutex mutex{};
  std::exception_ptr error{};  // the first; guarded by mutex until all threads have left

  // Takes indices until none is left.
  void run() {
    inside_loop = true;
    try {
      for (size_t i = next++; i < n; i = next++) fn(i);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!error) error = std::current_exception();
      next = n;
    }
    inside_loop = false;
  }
};

ThreadPool::ThreadPool(size_t n_threads) {
  if (n_threads == 0) n_threads = std::max(1u, std::thread::hardware_concurrency());
  workers_.reserve(n_threads - 1);
  try {
    while (workers_.size() + 1 < n_threads) workers_.emplace_back([this] { work(); });
  } catch (const std::system_error&) {
    // The system's limit on threads: go on with those that started.
  }
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::parallel_for(size_t n, const std::function<void(size_t)>& fn) {
  if (n <= 1 || workers_.empty() || inside_loop) {
    for (size_t i = 0; i < n; ++i) fn(i);
    return;
  }
  const std::lock_guard one_at_a_time(callers_);
  Loop loop{n, fn};
  {
    const std::lock_guard lock(mutex_);
    loop_ = &loop;
    n_busy_ = workers_.size();
    ++generation_;
  }
  wake_.notify_all();
  loop.run();
  {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return n_busy_ == 0; });
    loop_ = nullptr;
  }
  if (loop.error) std::rethrow_exception(loop.error);
}

void ThreadPool::work() {
  pthread_setname_np(pthread_self(), "worker");  // for debuggers and traces
  uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [&] { return stopping_ || generation_ != seen; });
    if (stopping_) return;
    seen = generation_;
    Loop* loop = loop_;
    lock.unlock();
    loop->run();
    lock.lock();
    if (--n_busy_ == 0) done_.notify_one();
  }
}

}  // namespace inferno
