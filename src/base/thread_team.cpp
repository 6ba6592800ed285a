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

// Of a share: turns share, share + n_shares, … of n.
int64_t turns_of(unsigned share, int64_t n, unsigned n_shares) {
  return (n - share + n_shares - 1) / n_shares;
}

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
    : shares_(std::make_unique<Share[]>(n_threads)),
      cpus_(cpus.begin(),
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
// Not again soon, and not where there are more threads than processors: if others keep cpus_[0] busy, the
// system knows better.
void ThreadTeam::step_aside() {
  constexpr uint32_t kLoopsBetween = 64;  // half a token's
  if (cpus_.size() < 2 || patience_ == kSpinsWhenCrowded) return;
  const int here = ::sched_getcpu();
  if (here < 0 || std::find(cpus_.begin() + 1, cpus_.end(), static_cast<unsigned>(here)) == cpus_.end())
    return;
  const auto loop = static_cast<uint32_t>(loop_ / kOneLoop);
  if (loop - moved_at_ < kLoopsBetween) return;
  moved_at_ = loop;
  cpu_set_t allowed;
  if (::pthread_getaffinity_np(::pthread_self(), sizeof allowed, &allowed) != 0) return;
  if (cpus_[0] >= CPU_SETSIZE || !CPU_ISSET(cpus_[0], &allowed)) return;
  pin_to(::pthread_self(), cpus_[0]);
  ::pthread_setaffinity_np(::pthread_self(), sizeof allowed, &allowed);
}

void ThreadTeam::run_together(int64_t n, Call call, const void* context) {
  if (n <= 0) return;
  step_aside();
  // No turn is left of the loop before, so nobody reads what is written here until the tickets are.
  call_.store(call, std::memory_order_relaxed);
  context_.store(context, std::memory_order_relaxed);
  n_.store(n, std::memory_order_relaxed);
  done_.store(0, std::memory_order_relaxed);
  n_shares_.store(n_threads(), std::memory_order_relaxed);
  loop_ += kOneLoop;
  for (unsigned share = n_threads(); share-- > 0;) {
    const auto turns = static_cast<uint64_t>(turns_of(share, n, n_threads()));
    shares_[share].ticket.store(loop_ | turns, std::memory_order_release);
  }
  ++loops_;
  if (sleepers_ > 0) loops_.notify_all();

  take_turns(0);
  for (int i = 0; done_.load(std::memory_order_acquire) != n; ++i) {
    if (i < patience_) {
      pause();
    } else {
      std::this_thread::yield();
    }
  }
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

// A ticket counts down, so that an old one never looks as if it had turns left of a newer, longer loop.
bool ThreadTeam::take_turn(unsigned thread, unsigned share) {
  std::atomic<uint64_t>& own = shares_[share].ticket;
  uint64_t ticket = own.load(std::memory_order_acquire);
  do {
    if (ticket % kOneLoop == 0) return false;
  } while (!own.compare_exchange_weak(ticket, ticket - 1, std::memory_order_acquire));
  const int64_t n = n_.load(std::memory_order_relaxed);
  const unsigned n_shares = n_shares_.load(std::memory_order_relaxed);
  const int64_t i = turns_of(share, n, n_shares) - static_cast<int64_t>(ticket % kOneLoop);
  try {
    call_.load(std::memory_order_relaxed)(context_.load(std::memory_order_relaxed), share + i * n_shares,
                                          thread);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::current_exception();
  }
  return true;
}

// The thread's own turns, then what others have left, unless it has own ones again. Once around: a share that
// was not published yet it has missed; the caller, whose turn comes last, misses none.
void ThreadTeam::take_turns(unsigned thread) {
  int64_t taken = 0;
  while (take_turn(thread, thread)) ++taken;
  if (taken > 0) done_.fetch_add(taken, std::memory_order_release);
  const std::atomic<uint64_t>& own = shares_[thread].ticket;
  const unsigned n_shares = n_shares_.load(std::memory_order_relaxed);
  for (unsigned i = 1; i < n_shares; ++i) {
    while (own.load(std::memory_order_relaxed) % kOneLoop == 0 && take_turn(thread, (thread + i) % n_shares))
      done_.fetch_add(1, std::memory_order_release);
  }
}

void ThreadTeam::work(unsigned thread) {
  ::pthread_setname_np(pthread_self(), "compute");  // for debuggers and traces
  uint64_t last = 0;                                // ticket of the last loop, whose turns are all taken
  for (int idle = 0; !stopping_.load(std::memory_order_relaxed);) {
    const uint32_t seen = loops_;
    const uint64_t ticket = shares_[thread].ticket.load(std::memory_order_relaxed);
    if (ticket / kOneLoop != last / kOneLoop) {
      last = ticket;
      idle = 0;
      take_turns(thread);
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
