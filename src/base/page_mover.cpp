#include "base/page_mover.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>
#include <fstream>
#include <iterator>
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

// Whether enough of its small pages are there.
bool is_written(void* at) {
  static const auto kSmallPage = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  std::array<unsigned char, PageMover::kHugePage / 4096> is_there = {};
  const size_t n_pages = PageMover::kHugePage / kSmallPage;
  if (n_pages > is_there.size() || ::mincore(at, PageMover::kHugePage, is_there.data()) != 0) return false;
  const auto n =
      std::count_if(is_there.begin(), is_there.end(), [](unsigned char c) { return (c & 1) != 0; });
  return PageMover::kWorthOneIn * static_cast<size_t>(n) >= n_pages;
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
  } catch (const std::exception&) {
    return;
  }
  start();
  if (pages_.size() == 1) changed_.notify_all();
}

void PageMover::add_unwritten(std::weak_ptr<const void> owner, void* page) {
  const std::lock_guard lock(mutex_);
  if (is_useless_) return;
  try {
    unwritten_.push_back({std::move(owner), page, false});
  } catch (const std::exception&) {
    return;
  }
  next_look_ = std::chrono::steady_clock::now() + pace_.patience;
}

void PageMover::look() {
  const std::lock_guard lock(mutex_);
  if (unwritten_.empty() || n_to_look_at_ != 0) return;
  const auto now = std::chrono::steady_clock::now();
  if (now < next_look_) return;
  next_look_ = now + pace_.patience;
  n_to_look_at_ = unwritten_.size();
  start();
  changed_.notify_all();
}

void PageMover::start() try {
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
} catch (const std::exception&) {
  give_up();
}

bool PageMover::hurry(std::chrono::milliseconds most) {
  std::unique_lock lock(mutex_);
  ++n_hurrying_;
  n_to_look_at_ = unwritten_.size();
  if (n_to_look_at_ != 0) start();
  changed_.notify_all();
  const bool is_done =
      changed_.wait_for(lock, most, [this] { return pages_.empty() && !is_busy_ && n_to_look_at_ == 0; });
  --n_hurrying_;
  return is_done;
}

void PageMover::give_up() {
  is_useless_ = true;
  n_to_look_at_ = 0;
  pages_.clear();
  unwritten_.clear();
  changed_.notify_all();
}

size_t PageMover::n_moved() const {
  const std::lock_guard lock(mutex_);
  return n_moved_;
}

size_t PageMover::n_left() const {
  const std::lock_guard lock(mutex_);
  return pages_.size() + (is_busy_ ? 1 : 0);
}

void PageMover::settle(Page page, int error) {
  if (error == 0) ++n_moved_;
  // EINVAL: nothing is there, or a part is being filled (page_filler.h).
  if ((error == EAGAIN || error == EINVAL) && !page.is_again) {
    page.is_again = true;
    pages_.push_back(std::move(page));
  }
}

void PageMover::move_next(std::unique_lock<std::mutex>& lock) {
  Page page = std::move(pages_.front());
  pages_.pop_front();
  is_busy_ = true;
  lock.unlock();
  int error = ESRCH;
  if (const auto owner = page.owner.lock()) error = move_page(page.at);
  lock.lock();
  is_busy_ = false;
  settle(std::move(page), error);
  if (!pages_.empty() || n_moved_ == 0) return;
  const size_t n_moved = n_moved_;
  lock.unlock();
  log::event(log::Level::kDebug, "inferno", "memory moved into huge pages", {{"pages", n_moved}});
  lock.lock();
}

void PageMover::look_at_some(std::unique_lock<std::mutex>& lock) {
  constexpr size_t kAtOnce = 16;  // 0.1 ms
  const size_t n = std::min(n_to_look_at_, kAtOnce);
  const auto end = unwritten_.begin() + static_cast<std::ptrdiff_t>(n);
  std::deque<Page> pages(std::make_move_iterator(unwritten_.begin()), std::make_move_iterator(end));
  unwritten_.erase(unwritten_.begin(), end);
  n_to_look_at_ -= n;
  is_busy_ = true;
  lock.unlock();
  std::deque<Page> written, unwritten;
  for (Page& page : pages) {
    if (const auto owner = page.owner.lock())
      (is_written(page.at) ? written : unwritten).push_back(std::move(page));
  }
  lock.lock();
  is_busy_ = false;
  std::move(written.begin(), written.end(), std::back_inserter(pages_));
  std::move(unwritten.begin(), unwritten.end(), std::back_inserter(unwritten_));
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
    const auto start = Clock::now();
    if (!pages_.empty() && (n_hurrying_ != 0 || start >= begin_)) {
      move_next(lock);
    } else if (n_to_look_at_ != 0) {
      look_at_some(lock);
    } else {
      if (pages_.empty()) {
        changed_.wait(lock);
      } else {
        changed_.wait_until(lock, begin_);
      }
      continue;
    }
    const auto took = Clock::now() - start;
    changed_.notify_all();
    changed_.wait_for(lock, took * pace_.rest, [this] { return stopping_ || n_hurrying_ != 0; });
  }
} catch (const std::exception&) {  // no memory to go on with: pages stay small
  const std::lock_guard lock(mutex_);
  is_busy_ = false;
  give_up();
}

}  // namespace inferno
