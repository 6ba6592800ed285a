#include "base/page_mover.h"

#include <pthread.h>
#include <sys/mman.h>

#include <cerrno>
#include <exception>
#include <fstream>
#include <new>
#include <string>
#include <system_error>
#include <utility>

#include "base/log.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25  // Linux 6.1; headers may be older
#endif

namespace inferno {
namespace {

std::string read_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// MADV_COLLAPSE itself does not ask.
bool has_huge_pages() {
  if (::madvise(nullptr, 0, MADV_COLLAPSE) != 0) return false;  // an older system does not know it
  if (read_line("/sys/kernel/mm/transparent_hugepage/enabled").find("[never]") != std::string::npos)
    return false;
  const std::string bytes = read_line("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size");
  return bytes.empty() || bytes == std::to_string(PageMover::kHugePage);
}

// Returns 0 or errno.
int move_page(void* at) {
  if (::madvise(at, PageMover::kHugePage, MADV_HUGEPAGE) != 0) return ENOMEM;
  return ::madvise(at, PageMover::kHugePage, MADV_COLLAPSE) == 0 ? 0 : errno;
}

}  // namespace

PageMover::PageMover(Pace pace) : pace_(pace) {
  has_cpus_ = ::sched_getaffinity(0, sizeof cpus_, &cpus_) == 0;
}

PageMover::~PageMover() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

// Where memory or threads run out, pages stay small.
void PageMover::add(std::weak_ptr<const void> owner, void* page) {
  const std::lock_guard lock(mutex_);
  if (is_useless_) return;
  try {
    begin_ = std::chrono::steady_clock::now() + pace_.patience;
    pages_.push_back({std::move(owner), page, false});
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
    if (pages_.size() == 1) changed_.notify_all();
  } catch (const std::exception&) {
    if (!thread_.joinable()) give_up();
  }
}

bool PageMover::hurry(std::chrono::milliseconds most) {
  std::unique_lock lock(mutex_);
  ++n_hurrying_;
  changed_.notify_all();
  const bool is_done = changed_.wait_for(lock, most, [this] { return pages_.empty() && !is_moving_; });
  --n_hurrying_;
  return is_done;
}

void PageMover::give_up() {
  is_useless_ = true;
  pages_.clear();
  changed_.notify_all();
}

size_t PageMover::n_moved() const {
  const std::lock_guard lock(mutex_);
  return n_moved_;
}

size_t PageMover::n_left() const {
  const std::lock_guard lock(mutex_);
  return pages_.size() + (is_moving_ ? 1 : 0);
}

void PageMover::settle(Page page, int error) {
  if (error == 0) ++n_moved_;
  // EINVAL: nothing is there, or a part is being filled (page_filler.h).
  if ((error == EAGAIN || error == EINVAL) && !page.is_again) {
    page.is_again = true;
    pages_.push_back(std::move(page));
  }
}

void PageMover::run() try {
  using Clock = std::chrono::steady_clock;
  ::pthread_setname_np(::pthread_self(), "pages");
  // A thread begins with the CPU and the priority of the one that made it, which may be a worker.
  if (has_cpus_) ::sched_setaffinity(0, sizeof cpus_, &cpus_);
  if (const int policy = ::sched_getscheduler(0); policy == SCHED_FIFO || policy == SCHED_RR) {
    const sched_param normal = {};
    ::sched_setscheduler(0, SCHED_OTHER, &normal);
  }
  const bool is_possible = has_huge_pages();
  std::unique_lock lock(mutex_);
  if (!is_possible) {
    give_up();
    return;
  }
  while (!stopping_) {
    if (pages_.empty()) {
      changed_.wait(lock);
      continue;
    }
    if (n_hurrying_ == 0 && Clock::now() < begin_) {
      changed_.wait_until(lock, begin_);
      continue;
    }
    Page page = std::move(pages_.front());
    pages_.pop_front();
    is_moving_ = true;
    lock.unlock();
    const auto start = Clock::now();
    int error = ESRCH;
    if (const auto owner = page.owner.lock()) error = move_page(page.at);
    const auto took = Clock::now() - start;
    lock.lock();
    is_moving_ = false;
    settle(std::move(page), error);
    if (pages_.empty() && n_moved_ != 0) {
      const size_t n_moved = n_moved_;
      lock.unlock();
      log::event(log::Level::kDebug, "inferno", "memory moved into huge pages", {{"pages", n_moved}});
      lock.lock();
    }
    changed_.notify_all();
    changed_.wait_for(lock, took * pace_.rest, [this] { return stopping_ || n_hurrying_ != 0; });
  }
} catch (const std::exception&) {  // no memory to go on with: pages stay small
  const std::lock_guard lock(mutex_);
  is_moving_ = false;
  give_up();
}

}  // namespace inferno
