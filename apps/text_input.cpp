#include "apps/text_input.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include "apps/output.h"
#include "apps/signals.h"
#include "base/mapped_file.h"
#include "base/text.h"

namespace inferno::apps {
namespace {

constexpr size_t kMaxBytes = size_t{256} << 20;

Error too_long(std::string_view what) {
  return make_error(ErrorCode::kResource, "{}: expected at most {} bytes of text, found more", what,
                    kMaxBytes);
}

// A read goes on after a signal that only sets a flag, and would wait for text that nobody types: so it is
// begun when there is something to read, and the flag is looked at until then.
bool input_is_there() {
  constexpr int kBetweenLooksMs = 200;
  pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  const int n = ::poll(&input, 1, kBetweenLooksMs);
  return n > 0 || (n < 0 && errno != EINTR);  // the read says what is wrong
}

Result<std::string> read_standard_input() {
  if (::isatty(STDIN_FILENO) == 1 && stderr_is_terminal())
    std::fputs("reading text from the terminal; Ctrl-D on a line of its own ends it\n", stderr);
  std::string text;
  char buffer[65536];
  while (text.size() <= kMaxBytes) {
    while (!input_is_there()) {
      if (signal_came())
        return Error{ErrorCode::kCancelled, "interrupted while the text on standard input was read"};
    }
    const ssize_t n = ::read(STDIN_FILENO, buffer, sizeof buffer);
    if (n == 0) return text;
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return make_error(ErrorCode::kIo, "cannot read standard input: {}", std::strerror(errno));
    text.append(buffer, static_cast<size_t>(n));
  }
  return too_long("standard input");
}

}  // namespace

Result<std::string> read_text(const std::string& path) {
  if (path == "-") return read_standard_input();
  const auto file = MappedFile::open(path);
  if (!file) {
    // What <(…) gives, too.
    std::error_code error;
    const bool is_pipe = std::filesystem::is_fifo(path, error);
    return Error{file.error().code,
                 file.error().message + (is_pipe ? "; - reads the text from standard input" : "")};
  }
  const auto bytes = (*file)->bytes();
  if (bytes.size() > kMaxBytes) return too_long(escaped(path, path.size()));
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

Result<std::string> read_piped_text() {
  TRY_ASSIGN(std::string text, read_standard_input());
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  return text;
}

bool text_waits_on_standard_input() {
  if (::isatty(STDIN_FILENO) == 1) return false;
  constexpr int kMomentMs = 50;
  pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  if (::poll(&input, 1, kMomentMs) <= 0) return false;
  int bytes = 0;  // in a pipe, or left of a file
  return ::ioctl(STDIN_FILENO, FIONREAD, &bytes) == 0 && bytes > 0;
}

}  // namespace inferno::apps
