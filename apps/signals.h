// Ctrl-C and SIGTERM end a generation cleanly: what was made is kept and measured; the exit code says which
// it was.
#pragma once

#include <atomic>

namespace inferno::apps {

// From now on the first SIGINT or SIGTERM sets the flag; a second one, of either, ends the process at once.
const std::atomic<bool>& install_signal_flag();
// 130 or 143 once a signal has come, else 0.
int signal_exit_code();

}  // namespace inferno::apps
