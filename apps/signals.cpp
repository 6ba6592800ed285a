#include "apps/signals.h"

#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <string_view>

#include "base/mapped_file.h"

namespace inferno::apps {
namespace {

std::atomic<bool> raised{false};
std::atomic<int> signal_number{0};
std::atomic<int64_t> first_ns{0};  // when the first one came
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free &&
              std::atomic<int64_t>::is_always_lock_free);

// timeout(1) sends a signal to its child and then to the group that the child is in: one wish, two signals.
constexpr int64_t kOneWishNs = 100'000'000;

int64_t now_ns() {
  struct timespec now {};
  ::clock_gettime(CLOCK_MONOTONIC, &now);  // safe in a handler: signal-safety(7)
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}

void on_signal(int number) {
  int64_t first = 0;
  const int64_t now = now_ns();
  if (first_ns.compare_exchange_strong(first, now)) {
    signal_number.store(number);
    raised.store(true);
    return;
  }
  if (now - first < kOneWishNs) return;
  std::signal(number, SIG_DFL);
  std::raise(number);
}

bool are_one_file(int a, int b) {
  struct stat of_a {
  }, of_b{};
  return ::fstat(a, &of_a) == 0 && ::fstat(b, &of_b) == 0 && of_a.st_dev == of_b.st_dev &&
         of_a.st_ino == of_b.st_ino;
}

void on_missing_page(int number, siginfo_t* info, void*) {
  if (info->si_code != BUS_ADRERR) {
    std::signal(number, SIG_DFL);
    std::raise(number);
    return;
  }
  // Several threads may miss the same page.
  static std::atomic_flag is_said;
  if (is_said.test_and_set()) {
    for (;;) ::pause();
  }
  // A text may have come to half a line.
  const std::string_view begin = are_one_file(STDOUT_FILENO, STDERR_FILENO) ? "\nerror: " : "error: ";
  const char* const known = MappedFile::name_at(info->si_addr);
  const std::string_view name = known != nullptr ? known : "a file";
  constexpr std::string_view kEnd =
      ": it became shorter, or unreadable, while it was in use; load it again once it is whole\n";
  const auto part = [](std::string_view text) { return iovec{const_cast<char*>(text.data()), text.size()}; };
  const std::array parts = {part(begin), part(name), part(kEnd)};
  // Nothing is left to be done if even this cannot be written.
  [[maybe_unused]] const ssize_t written =
      ::writev(STDERR_FILENO, parts.data(), static_cast<int>(parts.size()));
  ::_exit(1);
}

}  // namespace

const std::atomic<bool>& install_signal_flag() {
  struct sigaction action = {};
  action.sa_handler = on_signal;
  sigaddset(&action.sa_mask, SIGINT);  // one after the other
  sigaddset(&action.sa_mask, SIGTERM);
  sigaddset(&action.sa_mask, SIGHUP);
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  struct sigaction before = {};
  if (sigaction(SIGHUP, nullptr, &before) == 0 && before.sa_handler != SIG_IGN)
    sigaction(SIGHUP, &action, nullptr);
  return raised;
}

void install_missing_page_report() {
  struct sigaction action = {};
  action.sa_sigaction = on_missing_page;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &action, nullptr);
}

bool signal_came() {
  return raised.load();
}

int signal_exit_code() {
  const int number = signal_number.load();
  return number == 0 ? 0 : 128 + number;
}

}  // namespace inferno::apps
