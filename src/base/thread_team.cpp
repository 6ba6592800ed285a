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

// The ticket of a share without turns in 2^31 loops would look like one of a loop to come. Every so many
// loops the caller writes all of them.
constexpr uint64_t kLoopsOfATicket = 1 << 20;
// Of what a loop's closure holds, a worker asks for so much as soon as it knows of the loop.
constexpr size_t kMostContextBytes = 1024;

uint64_t turns_in(uint64_t word) {
  return word % kOneLoop;
}

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
      done_(std::make_unique<Done[]>(n_threads)),
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
  n_shares_ = this->n_threads();
}

ThreadTeam::~ThreadTeam() {
  stopping_ = true;
  ++wakes_;
  wakes_.notify_all();
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

void ThreadTeam::wake_sleepers() {
  ++wakes_;
  wakes_.notify_all();
}

void ThreadTeam::run_together(int64_t n, Call call, const void* context, size_t context_bytes) {
  if (n <= 0) return;
  step_aside();
  // No turn is left of the loop before, so nobody reads what is written here until the word is.
  order_.call.store(call, std::memory_order_relaxed);
  order_.context.store(context, std::memory_order_relaxed);
  order_.context_bytes.store(std::min(context_bytes, kMostContextBytes), std::memory_order_relaxed);
  if (loop_ / kOneLoop % kLoopsOfATicket == 0) {
    for (unsigned share = 0; share < n_shares_; ++share)
      shares_[share].ticket.store(loop_, std::memory_order_relaxed);
  }
  loop_ += kOneLoop;
  n_given_ += static_cast<uint64_t>(n);
  const uint64_t word = loop_ | static_cast<uint64_t>(n);
  // The first turn is the caller's without a ticket: atomic operations wait until others have the word.
  const auto own_left = static_cast<uint64_t>(turns_of(0, n, n_shares_) - 1);
  shares_[0].ticket.store(loop_ | own_left, std::memory_order_relaxed);
  order_.word.store(word, std::memory_order_release);
  if (sleepers_.load(std::memory_order_relaxed) > 0) wake_sleepers();

  do_turn(0, 0);
  have_done(0, 1);
  take_turns(0, word);
  // Whoever fell asleep when the word was on its way. One that counts itself from now on sees the word.
  if (!all_done() && sleepers_.fetch_add(0) > 0) wake_sleepers();
  for (int i = 0; !all_done(); ++i) {
    if (i < patience_) {
      pause();
    } else {
      std::this_thread::yield();
    }
  }
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void ThreadTeam::do_turn(int64_t turn, unsigned thread) {
  try {
    order_.call.load(std::memory_order_relaxed)(order_.context.load(std::memory_order_relaxed), turn, thread);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::current_exception();
  }
}

void ThreadTeam::have_done(unsigned thread, uint64_t turns) {
  std::atomic<uint64_t>& done = done_[thread].turns;
  done.store(done.load(std::memory_order_relaxed) + turns, std::memory_order_release);
}

bool ThreadTeam::all_done() const {
  uint64_t n = 0;
  for (unsigned thread = 0; thread < n_shares_; ++thread)
    n += done_[thread].turns.load(std::memory_order_acquire);
  return n == n_given_;
}

// The word may be of a loop that has ended: then each share that had turns in it has a ticket that says so,
// or a newer one.
bool ThreadTeam::take_turn(unsigned thread, unsigned share, uint64_t word) {
  std::atomic<uint64_t>& own = shares_[share].ticket;
  const auto n_turns =
      static_cast<uint64_t>(turns_of(share, static_cast<int64_t>(turns_in(word)), n_shares_));
  uint64_t ticket = own.load(std::memory_order_relaxed);
  uint64_t left;
  do {
    const auto newer_by = static_cast<int32_t>(ticket / kOneLoop - word / kOneLoop);
    left = newer_by == 0 ? turns_in(ticket) : newer_by < 0 ? n_turns : 0;
    if (left == 0) return false;
  } while (!own.compare_exchange_weak(ticket, (word - turns_in(word)) | (left - 1), std::memory_order_acquire,
                                      std::memory_order_relaxed));
  do_turn(share + static_cast<int64_t>(n_turns - left) * n_shares_, thread);
  return true;
}

// The thread's own turns, then what others have left, unless there is a new loop.
void ThreadTeam::take_turns(unsigned thread, uint64_t word) {
  uint64_t taken = 0;
  while (take_turn(thread, thread, word)) ++taken;
  if (taken > 0) have_done(thread, taken);
  for (unsigned i = 1; i < n_shares_; ++i) {
    while (order_.word.load(std::memory_order_relaxed) == word &&
           take_turn(thread, (thread + i) % n_shares_, word))
      have_done(thread, 1);
  }
}

void ThreadTeam::work(unsigned thread) {
  ::pthread_setname_np(pthread_self(), "compute");  // for debuggers and traces
  uint64_t last = 0;                                // the word of the last loop, whose turns are all taken
  for (int idle = 0; !stopping_.load(std::memory_order_relaxed);) {
    const uint32_t seen = wakes_;
    const uint64_t word = order_.word.load(std::memory_order_acquire);
    if (word != last) {
      last = word;
      idle = 0;
      const auto* context = static_cast<const char*>(order_.context.load(std::memory_order_relaxed));
      const size_t bytes = order_.context_bytes.load(std::memory_order_relaxed);
      for (size_t at = 0; at < bytes; at += 64) __builtin_prefetch(context + at);
      take_turns(thread, word);
    } else if (++idle < patience_) {
      pause();
    } else if (idle < patience_ + kYields) {
      std::this_thread::yield();
    } else {
      ++sleepers_;
      // A loop that came since `seen` was read does not let it sleep.
      if (!stopping_ && order_.word.load() == word) wakes_.wait(seen);
      --sleepers_;
      idle = 0;
    }
  }
}

}  // namespace inferno
