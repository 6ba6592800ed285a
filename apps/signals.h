// Ctrl-C, SIGTERM and a terminal that is closed (SIGHUP) end a generation cleanly: what was made is kept and
// measured; the exit code says which it was. A model file that shrinks while it is in use ends it with a
// sentence.
#pragma once

#include <atomic>

namespace inferno::apps {

// From now on the first SIGINT, SIGTERM or, unless it is ignored (nohup), SIGHUP sets the flag; a second one,
// of any, ends the process at once, unless it comes within a tenth of a second, as part of the same wish.
const std::atomic<bool>& install_signal_flag();
// From now on reading a page that a mapped file no longer has (somebody cut it short, its disk failed) ends
// the process with a sentence and exit code 1. An error of the library it cannot be: the page is missing in
// the middle of a sum.
void install_missing_page_report();
// Whether one has come: what long work asks (base/cancel.h).
bool signal_came();
// 130, 143 or 129 once a signal has come, else 0.
int signal_exit_code();

}  // namespace inferno::apps
