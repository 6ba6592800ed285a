#include "apps/output.h"

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <mutex>

#include "apps/signals.h"
#include "base/environment.h"
#include "base/log.h"
#include "base/text.h"

namespace inferno::apps {
namespace {

std::string command_to_help;        // or empty
std::atomic<int> stdout_error = 0;  // the first errno of a failed write

// Held while text or a line is written: threads log at any time, and their lines follow the end of the text.
std::mutex output_mutex;
bool text_is_open = false;  // whether what was written to stdout lacks its newline

// Bytes of the character that `text` begins with, 0 if that is not valid UTF-8.
size_t utf8_length(std::string_view text) {
  for (size_t n = 1; n <= std::min<size_t>(4, text.size()); ++n) {
    if (is_valid_utf8(text.substr(0, n))) return n;
  }
  return 0;
}

std::optional<size_t> columns_of(int fd) {
  winsize size{};
  if (::isatty(fd) != 1 || ::ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return std::nullopt;
  return size.ws_col;
}

// With output_mutex held.
bool write_text(std::string_view text) {
  if (stdout_error != 0) return false;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    stdout_error = errno == 0 ? EIO : errno;
    return false;
  }
  if (!text.empty()) text_is_open = !text.ends_with('\n');
  return true;
}

// To stderr; ends the line of text that stands in the same place before.
void write_line(const std::string& line) {
  const std::lock_guard lock(output_mutex);
  if (text_is_open && stderr_shares_stdout()) write_text("\n");
  std::fwrite(line.data(), 1, line.size(), stderr);
}

bool colour_wanted(bool on_stderr) {
  if (environment::get("NO_COLOR") || environment::get("TERM").value_or("dumb") == "dumb") return false;
  return on_stderr ? stderr_is_terminal() : stdout_is_terminal();
}

std::string styled(std::string_view text, std::string_view code, bool on_stderr) {
  if (!colour_wanted(on_stderr)) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

}  // namespace

int exit_code(ErrorCode code) {
  return code == ErrorCode::kInvalidArgument || code == ErrorCode::kUnavailable ? 2 : 1;
}

int fail(const Error& error) {
  if (error.code == ErrorCode::kCancelled && signal_exit_code() != 0) {
    warn(error.message);
    return signal_exit_code();
  }
  write_line(styled("error:", "1;31", true) + " " + for_terminal(error.message) + "\n");
  if (error.code == ErrorCode::kInvalidArgument && !command_to_help.empty()) {
    const bool is_variable = error.message.starts_with("INFERNO_");
    std::fputs(
        is_variable ? "`inferno help environment` tells of it\n" : help_pointer(command_to_help).c_str(),
        stderr);
  }
  return exit_code(error.code);
}

void point_to_help(std::string command) {
  command_to_help = std::move(command);
}

std::string help_pointer(std::string_view command) {
  return fmt::format("`{} --help` shows what there is\n", command);
}

void warn(std::string_view message) {
  write_line(styled("warning:", "1;33", true) + " " + for_terminal(message) + "\n");
}

bool write_stdout(std::string_view text) {
  const std::lock_guard lock(output_mutex);
  return write_text(text);
}

bool stderr_shares_stdout() {
  if (stdout_is_terminal() || stderr_is_terminal()) return stdout_is_terminal() && stderr_is_terminal();
  struct stat out {
  }, err{};
  return ::fstat(STDOUT_FILENO, &out) == 0 && ::fstat(STDERR_FILENO, &err) == 0 && out.st_dev == err.st_dev &&
         out.st_ino == err.st_ino;
}

void separate_log_from_text() {
  log::set_sink([](std::string_view line) { write_line(std::string(line) + "\n"); });
}

int finish_stdout() {
  errno = 0;
  if (stdout_error == 0 && (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)) {
    stdout_error = errno == 0 ? EIO : errno;
  }
  if (stdout_error == 0) return 0;
  // A reader that went away (`| head`) knows why the text ends; anything else is worth a line.
  if (stdout_error == EPIPE) return 128 + SIGPIPE;
  return fail(
      make_error(ErrorCode::kIo, "cannot write to standard output: {}", std::strerror(stdout_error.load())));
}

std::string for_terminal(std::string_view text) {
  std::string safe;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const auto byte = static_cast<unsigned char>(c);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : '\0');
    if ((byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f) {
      safe += fmt::format("\\x{:02x}", byte);
    } else if (byte == 0xc2 && next >= 0x80 && next < 0xa0) {  // U+0080 to U+009F, in UTF-8
      safe += fmt::format("\\u{{{:x}}}", next);
      ++i;
    } else if (const size_t length = utf8_length(text.substr(i)); length > 0) {
      safe += text.substr(i, length);
      i += length - 1;
    } else {  // no character of UTF-8: a terminal of another encoding may take it for a control
      safe += fmt::format("\\x{:02x}", byte);
    }
  }
  return safe;
}

bool StdoutBuffer::append(std::string_view text) {
  constexpr size_t kPiece = 1 << 16;
  text_ += text;
  if (text_.size() < kPiece) return stdout_error == 0;
  const bool written = write_stdout(text_);
  text_.clear();
  return written;
}

bool stdout_is_terminal() {
  return ::isatty(STDOUT_FILENO) == 1;
}
bool stderr_is_terminal() {
  return ::isatty(STDERR_FILENO) == 1;
}

std::optional<size_t> stdout_columns() {
  return columns_of(STDOUT_FILENO);
}
std::optional<size_t> stderr_columns() {
  return columns_of(STDERR_FILENO);
}

std::string dim(std::string_view text, bool on_stderr) {
  return styled(text, "2", on_stderr);
}
std::string red(std::string_view text, bool on_stderr) {
  return styled(text, "1;31", on_stderr);
}

}  // namespace inferno::apps
