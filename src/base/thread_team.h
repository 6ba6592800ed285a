// ThreadTeam: threads that share many short loops, one right after the other, as the steps of a forward pass
// are. They stay awake between loops for a while, so that a loop costs a barrier and not a wake-up.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

namespace inferno {

class ThreadTeam {
 public:
  // n_threads >= 1 counts the calling thread. Workers are pinned to cpus[1], cpus[2] … as far as the list
  // goes; the caller of run() is not, but leaves a worker's place for cpus[0] when it finds itself there.
  // Where the system refuses a thread, the team is smaller: slower, never different.
  explicit ThreadTeam(unsigned n_threads, std::span<const unsigned> cpus = {});
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  unsigned n_threads() const { return static_cast<unsigned>(workers_.size()) + 1; }

  // Calls fn(turn, thread) for each turn of [0, n), n < 2^32, each once; thread is below n_threads() and
  // tells what runs at the same time apart. A thread's own turns are thread, thread + n_threads(), … in
  // order; whoever is done with them helps the others. Returns when all turns are done: it waits for turns
  // that were taken, not for threads that have not come, so a machine with fewer processors than threads only
  // loses what a thread that lost its processor holds up. If a call throws, the first exception comes out
  // here; turns that had not begun may be left out. One caller at a time; not from inside fn.
  template <class Fn>
  void run(int64_t n, const Fn& fn) {
    if (n == 1 || workers_.empty()) {
      for (int64_t turn = 0; turn < n; ++turn) fn(turn, 0u);
      return;
    }
    const auto call = [](const void* context, int64_t turn, unsigned thread) {
      (*static_cast<const Fn*>(context))(turn, thread);
    };
    run_together(n, call, &fn);
  }

 private:
  using Call = void (*)(const void* context, int64_t turn, unsigned thread);

  // The turns of a thread that are left of a loop: the loop's number in the upper half, how many in the lower
  // one. In a line of its own, so that who takes a turn of his own waits for nobody.
  struct alignas(64) Share {
    std::atomic<uint64_t> ticket{0};
  };

  void run_together(int64_t n, Call call, const void* context);
  void step_aside();
  bool take_turn(unsigned thread, unsigned share);
  void take_turns(unsigned thread);
  void work(unsigned thread);

  // The loop that runs: written between two loops, read by whoever holds a turn.
  std::atomic<Call> call_{nullptr};
  std::atomic<const void*> context_{nullptr};
  std::atomic<int64_t> n_{0};
  uint64_t loop_ = 0;  // its number in the upper half
  std::unique_ptr<Share[]> shares_;
  std::atomic<unsigned> n_shares_{0};  // 0 before the first loop
  alignas(64) std::atomic<int64_t> done_{0};
  alignas(64) std::atomic<uint32_t> loops_{0};  // what sleepers wait on
  std::atomic<int> sleepers_{0};
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;              // guards error_
  std::exception_ptr error_;      // the first of the loop that runs
  std::vector<unsigned> cpus_;    // the caller's place, then those of the workers
  uint32_t moved_at_ = 1u << 31;  // the loop that the caller was moved before; their count wraps
  int patience_;                  // turns of an idle thread's loop before it lets others run
  std::vector<std::thread> workers_;
};

}  // namespace inferno
