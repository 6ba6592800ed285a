#include "base/page_mover.h"

#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "base/log.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25  // Linux 6.1; headers may be older
#endif

namespace inferno {
namespace {

// A thread begins on the CPUs of the one that made it, which may be a worker with one of its own: back to
// those of the program.
void leave_the_workers_cpu() {
  cpu_set_t cpus;
  if (::sched_getaffinity(::getpid(), sizeof cpus, &cpus) == 0) ::sched_setaffinity(0, sizeof cpus, &cpus);
}

}  // namespace

PageMover::~PageMover() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void PageMover::add(std::weak_ptr<const void> owner, void* page) {
  const std::lock_guard lock(mutex_);
  if (is_useless_) return;
  begin_ = std::chrono::steady_clock::now() + pace_.patience;
  pages_.push_back({std::move(owner), page});
  if (thread_.joinable()) return changed_.notify_all();
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error&) {  // then pages stay small
    is_useless_ = true;
    pages_.clear();
  }
}

size_t PageMover::n_moved() const {
  const std::lock_guard lock(mutex_);
  return n_moved_;
}

size_t PageMover::n_left() const {
  const std::lock_guard lock(mutex_);
  return pages_.size();
}

void PageMover::run() {
  using Clock = std::chrono::steady_clock;
  leave_the_workers_cpu();
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (pages_.empty()) {
      changed_.wait(lock);
      continue;
    }
    if (Clock::now() < begin_) {
      changed_.wait_until(lock, begin_);
      continue;
    }
    const Page page = std::move(pages_.front());
    pages_.pop_front();
    lock.unlock();
    const auto start = Clock::now();
    int error = ESRCH;
    if (const auto owner = page.owner.lock()) {
      ::madvise(page.at, kHugePage, MADV_HUGEPAGE);
      error = ::madvise(page.at, kHugePage, MADV_COLLAPSE) == 0 ? 0 : errno;
    }
    const auto took = Clock::now() - start;
    lock.lock();
    if (error == 0) ++n_moved_;
    if (error == EINVAL) {
      is_useless_ = true;
      pages_.clear();
    }
    if (pages_.empty())
      log::event(log::Level::kDebug, "inferno", "memory moved into huge pages", {{"pages", n_moved_}});
    changed_.wait_for(lock, took * pace_.rest, [this] { return stopping_; });
  }
}

}  // namespace inferno
