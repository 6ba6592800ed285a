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
    run_together(n, call, &fn, sizeof fn);
  }

 private:
  using Call = void (*)(const void* context, int64_t turn, unsigned thread);

  // What there is to do: written by the caller between two loops, read by whoever holds a turn. All in a
  // line: whoever is told of a loop has to fetch it from the caller's cache, which may be far away.
  struct alignas(64) Order {
    std::atomic<uint64_t> word{0};  // the loop's number in the upper half, how many turns in the lower one
    std::atomic<Call> call{nullptr};
    std::atomic<const void*> context{nullptr};
    std::atomic<size_t> context_bytes{0};
  };
  // The turns of a thread that are left: the number of the loop that one was last taken of in the upper half,
  // how many in the lower one. Of a newer loop none is taken yet. In a line of its own, which its thread
  // keeps in its cache unless others help it.
  struct alignas(64) Share {
    std::atomic<uint64_t> ticket{0};
  };
  // Turns that a thread has done, of all loops.
  struct alignas(64) Done {
    std::atomic<uint64_t> turns{0};
  };

  void run_together(int64_t n, Call call, const void* context, size_t context_bytes);
  void step_aside();
  void wake_sleepers();
  void do_turn(int64_t turn, unsigned thread);
  bool take_turn(unsigned thread, unsigned share, uint64_t word);
  void take_turns(unsigned thread, uint64_t word);
  void have_done(unsigned thread, uint64_t turns);
  bool all_done() const;
  void work(unsigned thread);

  Order order_;
  // What all read and hardly anybody writes.
  alignas(64) std::atomic<uint32_t> wakes_{0};  // what sleepers wait on
  std::atomic<bool> stopping_{false};
  unsigned n_shares_ = 1;
  std::unique_ptr<Share[]> shares_;
  std::unique_ptr<Done[]> done_;
  std::vector<unsigned> cpus_;  // the caller's place, then those of the workers
  int patience_;                // turns of an idle thread's loop before it lets others run
  // The caller's.
  alignas(64) uint64_t loop_ = 0;  // the number of the last one in the upper half
  uint64_t n_given_ = 0;           // turns, of all loops
  uint32_t moved_at_ = 1u << 31;   // the loop that the caller was moved before; their count wraps
  alignas(64) std::atomic<int> sleepers_{0};
  std::mutex mutex_;          // guards error_
  std::exception_ptr error_;  // the first of the loop that runs
  std::vector<std::thread> workers_;
};

}  // namespace inferno
