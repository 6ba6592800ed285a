// Runs one of our programs as a user does.
#pragma once

#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "support/shared_data.h"

namespace inferno::test {

struct Finished {
  int exit_code = -1;
  std::string out;
  std::string err;
};

// `arguments` are quoted for the shell by the caller; `input` is standard input.
inline Finished run_program(const std::string& program, const std::string& arguments,
                            const std::string& input = "") {
  const auto dir = scratch_dir("run_program");
  std::ofstream(dir / "in", std::ios::binary) << input;
  const std::string command = INFERNO_BIN_DIR "/" + program + " " + arguments + " <" + (dir / "in").string() +
                              " >" + (dir / "out").string() + " 2>" + (dir / "err").string();
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(dir / "out"), read_file(dir / "err")};
}

}  // namespace inferno::test
