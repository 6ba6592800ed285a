#include "support/run_program.h"

#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <stdexcept>

#include "support/shared_data.h"

namespace inferno::test {
namespace {

constexpr int kPipeBytes = 4096;

// In a shell that the program replaces, so that signals reach it.
std::string shell_command(const std::string& program, const std::string& arguments,
                          const std::string& environment, const std::string& redirections) {
  // One for all runs, so that only the first measures the machine's ceilings.
  static const std::string cache = scratch_dir("run_program_cache").string();
  return "cd '" + scratch_dir("empty").string() + "' && exec " + redirections +
         " env -u INFENG_ENABLE_TELEMETRY -u INFERNO_LOG -u RUST_LOG -u NO_COLOR -u INFERNO_FORCE_ISA"
         " -u INFERNO_CEILINGS TERM=xterm XDG_CACHE_HOME='" +
         cache + "' " + environment + " '" INFERNO_BIN_DIR "/" + program + "' " + arguments;
}

[[noreturn]] void become_shell(const std::string& command) {
  ::execl("/bin/sh", "sh", "-c", command.c_str(), static_cast<char*>(nullptr));
  ::_exit(127);
}

// "" at the end, which for a terminal whose last writer is gone is an error.
std::string read_piece(int fd) {
  char buffer[4096];
  ssize_t n = -1;
  do n = ::read(fd, buffer, sizeof buffer);
  while (n < 0 && errno == EINTR);
  return n > 0 ? std::string(buffer, static_cast<size_t>(n)) : "";
}

int wait_for_end(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

Finished finished(int status) {
  if (WIFSIGNALED(status)) return {.exit_code = 128 + WTERMSIG(status), .killed = true};
  return {.exit_code = WEXITSTATUS(status)};
}

}  // namespace

Finished run_program(const std::string& program, const std::string& arguments, const std::string& input,
                     const std::string& environment) {
  const auto dir = scratch_dir("run_program");
  std::ofstream(dir / "in", std::ios::binary) << input;
  const std::string redirections =
      "<" + (dir / "in").string() + " >" + (dir / "out").string() + " 2>" + (dir / "err").string();
  const std::string command = shell_command(program, arguments, environment, redirections);
  const pid_t pid = ::fork();
  if (pid == 0) become_shell(command);
  Finished result = finished(wait_for_end(pid));
  result.out = read_file(dir / "out");
  result.err = read_file(dir / "err");
  return result;
}

Finished run_in_terminal(const std::string& program, const std::string& arguments,
                         const std::string& environment) {
  const std::string command = shell_command(program, arguments, environment, "");
  int terminal = -1;
  const pid_t pid = ::forkpty(&terminal, nullptr, nullptr, nullptr);
  if (pid < 0) throw std::runtime_error("no pseudo-terminal");
  if (pid == 0) become_shell(command);
  std::string out;
  for (std::string piece; !(piece = read_piece(terminal)).empty();) out += piece;
  Finished result = finished(wait_for_end(pid));
  result.out = std::move(out);
  ::close(terminal);
  return result;
}

RunningProgram::RunningProgram(const std::string& program, const std::string& arguments)
    : err_path_((scratch_dir("running_program") / "err").string()) {
  const std::string command = shell_command(program, arguments, "", "</dev/null 2>" + err_path_);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  pid_ = ::fork();
  if (pid_ == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    become_shell(command);
  }
  ::close(ends[1]);
  ::fcntl(ends[0], F_SETPIPE_SZ, kPipeBytes);
  output_ = ends[0];
}

RunningProgram::~RunningProgram() {
  close_output();
  if (!ended_) {
    send(SIGKILL);
    wait_for_end(pid_);
  }
}

void RunningProgram::wait_until_blocked() {
  int waiting = 0;
  while (!ended() && ::ioctl(output_, FIONREAD, &waiting) == 0 && waiting < kPipeBytes) ::usleep(1000);
}

std::string RunningProgram::read_some() {
  const std::string piece = read_piece(output_);
  out_ += piece;
  return piece;
}

void RunningProgram::close_output() {
  if (output_ >= 0) ::close(output_);
  output_ = -1;
}

void RunningProgram::send(int signal) const {
  ::kill(pid_, signal);
}

bool RunningProgram::ended() {
  if (!ended_) ended_ = ::waitpid(pid_, &status_, WNOHANG) == pid_;
  return ended_;
}

Finished RunningProgram::finish() {
  while (output_ >= 0 && !read_some().empty()) {
  }
  if (!ended_) status_ = wait_for_end(pid_);
  ended_ = true;
  Finished result = finished(status_);
  result.out = out_;
  result.err = read_file(err_path_);
  return result;
}

}  // namespace inferno::test
