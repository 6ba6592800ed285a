#include "base/thread_team.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <utility>

namespace inferno {
namespace {

// Some ten microseconds of spinning span the gap between two steps, a millisecond of yielding that between
// two forward passes.
constexpr int kSpins = 2000;
constexpr int kSpinsWhenCrowded = 20;
constexpr int kYields = 1000;
constexpr uint64_t kOneLoop = uint64_t{1} << 32;

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Where this fails the thread runs wherever the system lets it.
void pin_to(pthread_t thread, unsigned cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (cpu >= CPU_SETSIZE) return;
  CPU_SET(cpu, &set);
  ::pthread_setaffinity_np(thread, sizeof set, &set);
}

}  // namespace

ThreadTeam::ThreadTeam(unsigned n_threads, std::span<const unsigned> cpus)
    : cpus_(cpus.begin(),
            cpus.begin() + static_cast<std::ptrdiff_t>(std::min<size_t>(cpus.size(), n_threads))),
      patience_(n_threads <= (cpus.empty() ? std::thread::hardware_concurrency() : cpus.size())
                    ? kSpins
                    : kSpinsWhenCrowded) {
  workers_.reserve(n_threads - 1);
  try {
    for (unsigned thread = 1; thread < n_threads; ++thread) {
      workers_.emplace_back([this, thread] { work(thread); });
      if (thread < cpus.size()) pin_to(workers_.back().native_handle(), cpus[thread]);
    }
  } catch (const std::exception&) {
    // The system's limit on threads or memory: go on with those that started.
  }
}

ThreadTeam::~ThreadTeam() {
  stopping_ = true;
  ++loops_;
  loops_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

// The system may have left the caller on a worker's processor, where one of the two waits for the other while
// another processor idles, and may take many milliseconds to see it.
//
// Looked for now and then only, and not where there are more threads than processors: if others keep cpus_[0]
// busy, the system knows better.
void ThreadTeam::step_aside() {
  constexpr uint64_t kLoopsBetween = 128;  // about a token's
  if (cpus_.size() < 2 || patience_ == kSpinsWhenCrowded) return;
  if (ticket_.load(std::memory_order_relaxed) / kOneLoop % kLoopsBetween != 0) return;
  const int here = ::sched_getcpu();
  if (here < 0 || std::find(cpus_.begin() + 1, cpus_.end(), static_cast<unsigned>(here)) == cpus_.end())
    return;
  cpu_set_t allowed;
  if (::pthread_getaffinity_np(::pthread_self(), sizeof allowed, &allowed) != 0) return;
  if (cpus_[0] >= CPU_SETSIZE || !CPU_ISSET(cpus_[0], &allowed)) return;
  pin_to(::pthread_self(), cpus_[0]);
  ::pthread_setaffinity_np(::pthread_self(), sizeof allowed, &allowed);
}

void ThreadTeam::run_together(int64_t n, Call call, const void* context) {
  if (n <= 0) return;
  step_aside();
  // No turn is left of the loop before, so nobody reads what is written here until the ticket is.
  call_.store(call, std::memory_order_relaxed);
  context_.store(context, std::memory_order_relaxed);
  n_.store(n, std::memory_order_relaxed);
  done_.store(0, std::memory_order_relaxed);
  const uint64_t loop = (ticket_.load(std::memory_order_relaxed) / kOneLoop + 1) * kOneLoop;
  ticket_.store(loop | static_cast<uint64_t>(n), std::memory_order_release);
  ++loops_;
  if (sleepers_ > 0) loops_.notify_all();

  while (take_turn(0)) {
  }
  for (int i = 0; done_.load(std::memory_order_acquire) != n; ++i) {
    if (i < patience_) {
      pause();
    } else {
      std::this_thread::yield();
    }
  }
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

// The ticket counts down, so that an old one never looks as if it had turns left of a newer, longer loop.
bool ThreadTeam::take_turn(unsigned thread) {
  uint64_t ticket = ticket_.load(std::memory_order_acquire);
  do {
    if (ticket % kOneLoop == 0) return false;
  } while (!ticket_.compare_exchange_weak(ticket, ticket - 1, std::memory_order_acquire));
  const int64_t turn = n_.load(std::memory_order_relaxed) - static_cast<int64_t>(ticket % kOneLoop);
  try {
    call_.load(std::memory_order_relaxed)(context_.load(std::memory_order_relaxed), turn, thread);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::current_exception();
  }
  done_.fetch_add(1, std::memory_order_release);
  return true;
}

void ThreadTeam::work(unsigned thread) {
  ::pthread_setname_np(pthread_self(), "compute");  // for debuggers and traces
  for (int idle = 0; !stopping_.load(std::memory_order_relaxed);) {
    const uint32_t seen = loops_;
    if (take_turn(thread)) {
      idle = 0;
    } else if (++idle < patience_) {
      pause();
    } else if (idle < patience_ + kYields) {
      std::this_thread::yield();
    } else {
      ++sleepers_;
      // A loop that came since `seen` was read does not let it sleep.
      if (!stopping_) loops_.wait(seen);
      --sleepers_;
      idle = 0;
    }
  }
}

}  // namespace inferno
