// Runs our programs as a user does.
#pragma once

#include <sys/types.h>

#include <string>

namespace inferno::test {

struct Finished {
  int exit_code = -1;   // as a shell tells it: 128 + n after signal n
  bool killed = false;  // by a signal that it did not handle
  std::string out;
  std::string err;
};

// `arguments` are quoted for the shell by the caller, and may redirect (">/dev/full"); `environment` is
// "NAME=value …". The working directory is empty, and of our variables none is set but those and
// XDG_CACHE_HOME, a folder that all runs of a test program share.
Finished run_program(const std::string& program, const std::string& arguments, const std::string& input = "",
                     const std::string& environment = "");

// The same with terminals as input, output and stderr: `out` is what was shown, stderr included.
Finished run_in_terminal(const std::string& program, const std::string& arguments,
                         const std::string& environment = "");

// Whether this is a part of what a program has printed.
inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// The demo model's file, quoted for the shell.
inline constexpr const char* kDemo = "'" INFERNO_SOURCE_DIR "/models/demo/demo-tales-q8_0.gguf'";

// A program while it runs, its standard output a pipe to the test.
class RunningProgram {
 public:
  RunningProgram(const std::string& program, const std::string& arguments);
  ~RunningProgram();
  RunningProgram(const RunningProgram&) = delete;
  RunningProgram& operator=(const RunningProgram&) = delete;

  // Waits until it has written more than the unread pipe holds and so cannot go on, or has ended.
  void wait_until_blocked();
  // Waits for the next piece of output; "" at its end.
  std::string read_some();
  void close_output();
  void send(int signal) const;
  // Whether it has ended, without waiting.
  bool ended();
  // The rest of the output, and how it ended.
  Finished finish();

 private:
  pid_t pid_ = -1;
  int output_ = -1;
  bool ended_ = false;
  int status_ = 0;
  std::string out_;
  std::string err_path_;
};

}  // namespace inferno::test
