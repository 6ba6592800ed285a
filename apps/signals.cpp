#include "apps/signals.h"

#include <csignal>

namespace inferno::apps {
namespace {

std::atomic<bool> raised{false};
std::atomic<int> signal_number{0};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

void on_signal(int number) {
  signal_number.store(number);
  raised.store(true);
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

}  // namespace

const std::atomic<bool>& install_signal_flag() {
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  return raised;
}

int signal_exit_code() {
  const int number = signal_number.load();
  return number == 0 ? 0 : 128 + number;
}

}  // namespace inferno::apps
