#include "backend/timed_windows.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <numeric>
#include <system_error>
#include <thread>
#include <vector>

namespace inferno::backend {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kWitnesses = 3;
constexpr double kAgreement = 1.01;

// Stays where it is when the system refuses.
void pin_to(unsigned cpu) {
  cpu_set_t* set = CPU_ALLOC(cpu + 1);
  if (set == nullptr) return;
  const size_t bytes = CPU_ALLOC_SIZE(cpu + 1);
  CPU_ZERO_S(bytes, set);
  CPU_SET_S(cpu, bytes, set);
  ::pthread_setaffinity_np(::pthread_self(), bytes, set);
  CPU_FREE(set);
}

// Threads that wait for each other without sleeping, so that all go on within a fraction of a microsecond.
class SpinBarrier {
 public:
  explicit SpinBarrier(size_t n) : n_(n) {}

  void wait() {
    constexpr int kSpins = 10000;  // then somebody else may need this processor to arrive
    const unsigned phase = phase_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == n_) {
      arrived_.store(0, std::memory_order_relaxed);
      phase_.store(phase + 1, std::memory_order_release);
      return;
    }
    for (int spins = 0; phase_.load(std::memory_order_acquire) == phase; ++spins) {
      if (spins >= kSpins) std::this_thread::yield();
    }
  }

 private:
  size_t n_;
  std::atomic<size_t> arrived_{0};
  std::atomic<unsigned> phase_{0};
};

bool is_settled(const std::vector<double>& windows, WindowCount count) {
  const double all = std::accumulate(windows.begin(), windows.end(), 0.0);
  if (windows.size() >= kWitnesses && all > count.most_seconds) return true;
  if (windows.size() < count.least) return false;
  const double shortest = *std::min_element(windows.begin(), windows.end());
  const auto agrees = [&](double seconds) { return seconds <= shortest * kAgreement; };
  return windows.size() >= count.most ||
         std::count_if(windows.begin(), windows.end(), agrees) >= static_cast<std::ptrdiff_t>(kWitnesses);
}

}  // namespace

Status run_together(std::span<const unsigned> cpus, const std::function<void(size_t)>& fn) {
  enum Start : int { kWait, kGo, kGiveUp };
  std::atomic<int> start = kWait;
  std::vector<std::thread> threads;
  threads.reserve(cpus.size());
  Status status;
  try {
    for (size_t i = 0; i < cpus.size(); ++i) {
      threads.emplace_back([&, i] {
        pin_to(cpus[i]);
        start.wait(kWait);
        if (start == kGo) fn(i);
      });
    }
  } catch (const std::system_error& error) {
    status = make_error(ErrorCode::kResource, "cannot start thread {} of {}: {}", threads.size() + 1,
                        cpus.size(), error.code().message());
  }
  start = status ? kGo : kGiveUp;
  start.notify_all();
  for (std::thread& thread : threads) thread.join();
  return status;
}

Result<Windows> time_windows(std::span<const unsigned> cpus, const Work& work, WindowCount count) {
  SpinBarrier barrier(cpus.size());
  std::vector<Clock::time_point> starts(cpus.size());
  std::vector<Clock::time_point> ends(cpus.size());
  // Written by thread 0 between two barriers, read after the second.
  std::vector<double> windows;
  bool settled = false;
  TRY(run_together(cpus, [&](size_t thread) {
    for (int window = 0;; ++window) {
      barrier.wait();
      if (settled) return;
      starts[thread] = Clock::now();
      work(thread, window);
      ends[thread] = Clock::now();
      barrier.wait();
      if (thread != 0) continue;
      const std::chrono::duration<double> took =
          *std::max_element(ends.begin(), ends.end()) - *std::min_element(starts.begin(), starts.end());
      windows.push_back(took.count());
      settled = is_settled(windows, count);
    }
  }));
  std::sort(windows.begin(), windows.end());
  return Windows{windows.front(), windows[windows.size() / 2]};
}

}  // namespace inferno::backend
