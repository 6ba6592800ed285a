// A fixed set of threads for loops whose turns do not depend on each other.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace inferno {

class ThreadPool {
 public:
  // n_threads counts the calling thread, so 1 starts none; 0 means one per CPU. Where the system refuses a
  // thread, the pool has fewer: slower, never different.
  explicit ThreadPool(size_t n_threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  size_t n_threads() const { return workers_.size() + 1; }

  // Calls fn(0) … fn(n - 1), each once, in no particular order, from all threads and the caller; returns when
  // all are done. If a call throws, no further ones are started and the first exception comes out here.
  // Callers on several threads take turns; a call from inside fn runs its loop on its own thread.
  void parallel_for(size_t n, const std::function<void(size_t)>& fn);

 private:
  struct Loop;
  void work();

  std::vector<std::thread> workers_;
  std::mutex callers_;  // held by the one parallel_for that runs
  std::mutex mutex_;    // guards what follows
  std::condition_variable wake_;
  std::condition_variable done_;
  Loop* loop_ = nullptr;     // the running loop
  uint64_t generation_ = 0;  // how many loops there have been
  size_t n_busy_ = 0;        // workers that have yet to leave the running loop
  bool stopping_ = false;
};

}  // namespace inferno
