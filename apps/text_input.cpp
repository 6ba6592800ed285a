#include "apps/text_input.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "base/mapped_file.h"
#include "base/text.h"

namespace inferno::apps {
namespace {

constexpr size_t kMaxBytes = size_t{256} << 20;

Error too_long(std::string_view what) {
  return make_error(ErrorCode::kResource, "{}: expected at most {} bytes of text, found more", what,
                    kMaxBytes);
}

Result<std::string> read_standard_input() {
  std::string text;
  char buffer[65536];
  size_t n = 0;
  while (text.size() <= kMaxBytes && (n = std::fread(buffer, 1, sizeof buffer, stdin)) > 0)
    text.append(buffer, n);
  if (std::ferror(stdin) != 0) {
    return make_error(ErrorCode::kIo, "cannot read standard input: {}", std::strerror(errno));
  }
  if (text.size() > kMaxBytes) return too_long("standard input");
  return text;
}

}  // namespace

Result<std::string> read_text(const std::string& path) {
  if (path == "-") return read_standard_input();
  TRY_ASSIGN(const std::shared_ptr<const MappedFile> file, MappedFile::open(path));
  const auto bytes = file->bytes();
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
