// How commands speak: results on stdout, everything else on stderr, exit codes in one place.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace inferno::apps {

// 2 for usage and absent backends, else 1.
int exit_code(ErrorCode code);

// "error: …" on stderr, in red on a terminal; of work that a signal cancelled, "warning: …". Returns the
// exit code. A usage error is followed by where help is, once point_to_help() has named the command.
int fail(const Error& error);
// "inferno generate": whose arguments were understood, so that what is wrong with them is said later.
void point_to_help(std::string command);
std::string help_pointer(std::string_view command);
void warn(std::string_view message);

// Writes and flushes stdout; false once anything went wrong (a full disk, a closed pipe), so that the command
// can end. `finish_stdout` gives the exit code and says why: 1, or without a word 141, as of SIGPIPE, when
// the reader went away.
bool write_stdout(std::string_view text);
int finish_stdout();

// Text that a model or a file made, as a terminal may show it: control characters other than newline and tab
// become visible (\x1b, \u{9b}), so that none of them acts.
std::string for_terminal(std::string_view text);

// Whether stdout and stderr end up in one place: on terminals, or in the same file or pipe (2>&1).
bool stderr_shares_stdout();
// From now on lines of the log begin on a line of their own where stderr_shares_stdout(), as errors and
// warnings do.
void separate_log_from_text();

// Collects text and hands it to write_stdout() in large pieces; the rest when it goes.
class StdoutBuffer {
 public:
  StdoutBuffer() = default;
  ~StdoutBuffer() { write_stdout(text_); }
  StdoutBuffer(const StdoutBuffer&) = delete;
  StdoutBuffer& operator=(const StdoutBuffer&) = delete;

  // False once stdout failed: the rest need not be made.
  bool append(std::string_view text);

 private:
  std::string text_;
};

bool stdout_is_terminal();
bool stderr_is_terminal();
// How wide they are; nullopt off a terminal, and where it does not say.
std::optional<size_t> stdout_columns();
std::optional<size_t> stderr_columns();
// Honours NO_COLOR and TERM=dumb. The text as it is when colour is off.
std::string dim(std::string_view text, bool on_stderr);
std::string red(std::string_view text, bool on_stderr);

}  // namespace inferno::apps
