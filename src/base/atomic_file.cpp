#include "base/atomic_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "base/file_kind.h"
#include "base/text.h"

namespace inferno {
namespace {

Error io_error(const std::string& path, std::string_view what, int error_number) {
  return make_error(ErrorCode::kIo, "{}: cannot {}: {}", escaped(path, path.size()), what,
                    std::generic_category().message(error_number));
}

bool has_folder(const std::string& path) {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  return folder.empty() || std::filesystem::exists(folder, error);
}

Error missing_folder(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return make_error(ErrorCode::kIo,
                    "{}: its folder {} does not exist; make it (mkdir -p) or give another path",
                    escaped(path, path.size()), escaped(folder, folder.size()));
}

// A system that keeps files in memory in huge pages takes one for each piece of its size that is written at
// once, and maps it as one later: whoever maps the file waits less, and reads it as fast as huge pages of
// memory.
constexpr size_t kPieceBytes = size_t{2} << 20;

// The file that takes the bytes until they are all there; removed unless it was renamed.
class TemporaryFile {
 public:
  TemporaryFile() = default;
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (fd_ >= 0) ::close(fd_);
    if (!path_.empty()) ::unlink(path_.c_str());
  }

  // Beside `target`, since a rename works only within a file system.
  Status create(const std::string& target) {
    static std::atomic<unsigned> counter = 0;
    constexpr int kAttempts = 100;  // names left over by programs that were killed
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      const std::string path = fmt::format("{}.{}-{}.tmp", target, ::getpid(), counter++);
      fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (fd_ >= 0) {
        path_ = path;
        return {};
      }
      if (errno != EEXIST) break;
    }
    const int error = errno;
    return error == ENOENT && !has_folder(target) ? missing_folder(target)
                                                  : io_error(target, "create it", error);
  }

  // Written in whole pieces until become().
  Status append(const std::string& target, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const auto part = bytes.first(std::min(bytes.size(), kPieceBytes - pending_.size()));
      bytes = bytes.subspan(part.size());
      if (part.size() == kPieceBytes) {
        TRY(write(target, part));
        continue;
      }
      pending_.insert(pending_.end(), part.begin(), part.end());
      if (pending_.size() < kPieceBytes) continue;
      TRY(write(target, pending_));
      pending_.clear();
    }
    return {};
  }

  Status become(const std::string& target, std::optional<mode_t> mode, const CheckFn& check) {
    TRY(write(target, pending_));
    if (mode && ::fchmod(fd_, *mode) != 0) return io_error(target, "set its permissions", errno);
    if (::fsync(fd_) != 0) return io_error(target, "write it", errno);
    const int closed = ::close(std::exchange(fd_, -1));
    if (closed != 0) return io_error(target, "write it", errno);
    if (check) TRY(check(path_));
    if (::rename(path_.c_str(), target.c_str()) != 0) return io_error(target, "replace it", errno);
    path_.clear();
    return {};
  }

 private:
  Status write(const std::string& target, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return io_error(target, "write it", errno);
      bytes = bytes.subspan(static_cast<size_t>(written));
    }
    return {};
  }

  int fd_ = -1;
  std::string path_;
  std::vector<std::byte> pending_;  // less than a piece
};

// Where the file will lie that the symbolic links at `path` lead to, which is not there yet.
std::string end_of_links(const std::string& path) {
  constexpr int kMostLinks = 40;  // as many as the system follows
  std::filesystem::path target = path;
  std::error_code error;
  for (int i = 0; i < kMostLinks; ++i) {
    const std::filesystem::path next = std::filesystem::read_symlink(target, error);
    if (error) break;
    target = target.parent_path() / next;
  }
  return target.string();
}

// The rename itself lasts only once the folder is on disk. Not every file system can do this, and the file is
// whole either way, so there is no error to report.
void sync_folder_of(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  const int fd = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);
  ::close(fd);
}

}  // namespace

std::optional<std::string> target_of_abandoned(const std::string& path) {
  constexpr std::string_view kEnding = ".tmp";
  constexpr std::time_t kLongAgoS = 3600;
  const size_t dot = path.size() > kEnding.size() ? path.rfind('.', path.size() - kEnding.size() - 1) : 0;
  if (dot == 0 || dot == std::string::npos || !path.ends_with(kEnding)) return std::nullopt;
  // PID-COUNTER
  const char* const end = path.data() + path.size() - kEnding.size();
  pid_t pid = 0;
  unsigned counter = 0;
  const auto writer = std::from_chars(path.data() + dot + 1, end, pid);
  if (writer.ec != std::errc() || writer.ptr == end || *writer.ptr != '-' || pid <= 0) return std::nullopt;
  const auto count = std::from_chars(writer.ptr + 1, end, counter);
  struct stat info {};
  if (count.ec != std::errc() || count.ptr != end || ::lstat(path.c_str(), &info) != 0 ||
      !S_ISREG(info.st_mode)) {
    return std::nullopt;
  }
  const bool writer_is_gone = ::kill(pid, 0) != 0 && errno == ESRCH;
  if (!writer_is_gone && std::time(nullptr) - info.st_mtim.tv_sec < kLongAgoS) return std::nullopt;
  return path.substr(0, dot);
}

void remove_temporary_files(const std::string& path) {
  const std::filesystem::path target(path);
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(target.parent_path(), error)) {
    const auto abandoned = target_of_abandoned(entry.path().string());
    if (abandoned && std::filesystem::path(*abandoned).filename() == target.filename())
      std::filesystem::remove(entry.path(), error);
  }
}

Status write_file_atomically(const std::string& path, const std::function<Status(const AppendFn&)>& write,
                             const CheckFn& check) {
  std::string target = path;
  std::optional<mode_t> mode;
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0) {
    // Renaming onto a device such as /dev/null would destroy it.
    if (!S_ISREG(info.st_mode)) {
      return make_error(ErrorCode::kIo, "{}: expected the name of a regular file to write, found {}",
                        escaped(path, path.size()), file_kind(info.st_mode));
    }
    mode = info.st_mode & 07777;
    // A symbolic link stays one: what it points to is replaced.
    const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
    if (real == nullptr) return io_error(path, "find it", errno);
    target = real.get();
  } else if (errno == ELOOP) {
    return io_error(path, "find it", ELOOP);
  } else {
    target = end_of_links(path);
  }
  TemporaryFile temporary;
  TRY(temporary.create(target));
  TRY(write([&](std::span<const std::byte> bytes) { return temporary.append(target, bytes); }));
  TRY(temporary.become(target, mode, check));
  sync_folder_of(target);
  return {};
}

Status check_writable(const std::string& path) {
  // Cancelled before the first byte, so that nothing is replaced.
  const auto stop = [](const AppendFn&) -> Status { return Error{ErrorCode::kCancelled, ""}; };
  Status status = write_file_atomically(path, stop);
  return status.error().code == ErrorCode::kCancelled ? Status() : status;
}

Status check_folder_writable(const std::string& path) {
  std::filesystem::path there = path.empty() ? "." : path;
  std::error_code ignored;
  while (there != "." && !std::filesystem::exists(there, ignored)) {
    there = there.has_parent_path() ? there.parent_path() : ".";
  }
  std::string probe = (there / "inferno-XXXXXX").string();
  if (::mkdtemp(probe.data()) == nullptr) return io_error(path, "write into this folder", errno);
  ::rmdir(probe.c_str());
  return {};
}

Status make_parent_folder(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  if (error) return io_error(folder.string(), "make this folder", error.value());
  return {};
}

}  // namespace inferno
