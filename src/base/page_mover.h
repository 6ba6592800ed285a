// PageMover: moves memory into huge pages (2 MiB) while the program runs. Where the system hands them out
// slowly (it moves others about first, or the host of a virtual machine has to find the memory) a program
// that waits for them starts late, and one that does not reads its memory up to a fifth slower for as long as
// it lives. A thread of its own copies page by page, a small part of the time; whoever reads or writes the
// memory meanwhile sees the same values, and may wait for a page's copy. Linux 6.1 (MADV_COLLAPSE) where huge
// pages have 2 MiB and are not forbidden; elsewhere it does nothing. A page that the system cannot move (no
// free huge page, a limit of memory) stays where it is.
#pragma once

#include <sched.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

namespace inferno {

class PageMover {
 public:
  static constexpr size_t kHugePage = size_t{2} << 20;
  // Of the small pages in a room that is written bit by bit, one in so many makes it worth moving: memory for
  // the others is taken before they are written.
  static constexpr size_t kWorthOneIn = 8;

  struct Pace {
    // After the last add(): a program's start comes first.
    std::chrono::milliseconds patience{1000};
    // Between two pages, times what the one before took.
    int rest = 9;
  };

  // The thread will run where the one that makes this may.
  explicit PageMover(Pace pace);
  PageMover() : PageMover(Pace()) {}
  ~PageMover();
  PageMover(const PageMover&) = delete;
  PageMover& operator=(const PageMover&) = delete;

  // A huge page's room, from its border on, for as long as its owner lives. From any thread.
  void add(std::weak_ptr<const void> owner, void* page);
  // The same for a room that is not written yet: it is moved once one in kWorthOneIn of its small pages is
  // there, and then whole. look() finds out.
  void add_unwritten(std::weak_ptr<const void> owner, void* page);

  // Looks which of them have been written meanwhile; on the mover's thread, at its pace, and begun at most
  // once in its patience. Cheap: for whoever has just written some.
  void look();

  // Moves what is left at once and waits for it, up to so long; then goes on at its pace. Returns whether
  // nothing is left.
  bool hurry(std::chrono::milliseconds most);

  // Pages that lie in one piece by now, and those that are not dealt with yet but for what is not written.
  size_t n_moved() const;
  size_t n_left() const;

 private:
  struct Page {
    std::weak_ptr<const void> owner;
    void* at;
    bool is_again;  // it could not be moved once
  };

  void run();
  // mutex_ is held:
  void start();
  void settle(Page page, int error);
  void give_up();
  // It is unlocked meanwhile:
  void look_at_some(std::unique_lock<std::mutex>& lock);
  void move_next(std::unique_lock<std::mutex>& lock);

  Pace pace_;
  bool has_cpus_ = false;
  cpu_set_t cpus_ = {};
  mutable std::mutex mutex_;  // guards all below but the thread
  std::condition_variable changed_;
  std::deque<Page> pages_;
  std::deque<Page> unwritten_;                       // when last looked at
  size_t n_to_look_at_ = 0;                          // of them, from the first on
  std::chrono::steady_clock::time_point begin_;      // not before
  std::chrono::steady_clock::time_point next_look_;  // likewise
  size_t n_moved_ = 0;
  int n_hurrying_ = 0;       // calls of hurry()
  bool is_busy_ = false;     // with pages that are not among those above
  bool is_useless_ = false;  // the system cannot
  bool stopping_ = false;
  std::thread thread_;  // from the first page on that is to be moved or looked at
};

}  // namespace inferno
