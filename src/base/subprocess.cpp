#include "base/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "base/environment.h"
#include "base/text.h"

extern char** environ;

namespace inferno {
namespace {

constexpr size_t kMaxOutput = size_t{16} << 20;

// Closes what it holds.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { reset(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  void reset() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

Error failed(std::string_view program, std::string_view what, int error) {
  return make_error(ErrorCode::kIo, "{}: {}: {}", escaped(program, 4096), what, std::strerror(error));
}

// Everything up to the end of the output; the process is told to end when there is a reason to stop.
Status read_all(int fd, pid_t pid, std::string_view program, const std::atomic<bool>* cancelled,
                std::string& out) {
  constexpr int kLookEveryMs = 100;
  char buffer[4096];
  while (true) {
    if (cancelled != nullptr && cancelled->load(std::memory_order_relaxed)) {
      ::kill(pid, SIGTERM);
      return make_error(ErrorCode::kCancelled, "{}: interrupted", escaped(program, 4096));
    }
    pollfd waiting{fd, POLLIN, 0};
    if (::poll(&waiting, 1, kLookEveryMs) <= 0) continue;
    const ssize_t n = ::read(fd, buffer, sizeof(buffer));
    if (n == 0) return {};
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failed(program, "its output cannot be read", errno);
    out.append(buffer, static_cast<size_t>(n));
    if (out.size() <= kMaxOutput) continue;
    ::kill(pid, SIGTERM);
    return make_error(ErrorCode::kIo, "{}: wrote more than {}", escaped(program, 4096),
                      human_bytes(kMaxOutput));
  }
}

// Its standard output is `out`.
Result<pid_t> spawn(const std::vector<std::string>& argv, int out) {
  std::vector<char*> arguments;
  for (const std::string& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return failed(argv[0], "cannot be started", error);
  return pid;
}

int wait_for(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

Result<int> run_attached(const std::vector<std::string>& argv) {
  TRY_ASSIGN(const pid_t pid, spawn(argv, STDOUT_FILENO));
  return wait_for(pid);
}

std::optional<std::string> find_program(std::string_view name) {
  const auto is_program = [](const std::string& file) {
    std::error_code error;
    return std::filesystem::is_regular_file(file, error) && ::access(file.c_str(), X_OK) == 0;
  };
  if (name.find('/') != std::string_view::npos) {
    return is_program(std::string(name)) ? std::optional<std::string>(name) : std::nullopt;
  }
  const std::string path = environment::get("PATH").value_or("/usr/bin:/bin");
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find(':', begin), path.size());
    const std::string candidate =
        fmt::format("{}/{}", std::string_view(path).substr(begin, end - begin), name);
    if (is_program(candidate)) return candidate;
    begin = end + 1;
  }
  return std::nullopt;
}

Result<Finished> run_subprocess(const std::vector<std::string>& argv, const std::atomic<bool>* cancelled) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return failed(argv[0], "no pipe", errno);
  Descriptor reading(ends[0]);
  Descriptor writing(ends[1]);
  TRY_ASSIGN(const pid_t pid, spawn(argv, writing.get()));
  writing.reset();
  Finished finished;
  const Status read = read_all(reading.get(), pid, argv[0], cancelled, finished.out);
  reading.reset();
  finished.exit_code = wait_for(pid);
  TRY(read);
  return finished;
}

}  // namespace inferno
