// Other programs: finding them and running them.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace inferno {

// The path of an executable of that name in one of the folders of PATH; a name with a slash is the path
// itself, if there is one.
std::optional<std::string> find_program(std::string_view name);

struct Finished {
  int exit_code = 0;  // 128 + the signal that ended it
  std::string out;    // what it wrote on its standard output
};

// Runs a program without a shell and waits for it; standard error is passed on. `cancelled` ends it with
// SIGTERM (kCancelled). kIo when it cannot be started or writes more than 16 MiB.
Result<Finished> run_subprocess(const std::vector<std::string>& argv,
                                const std::atomic<bool>* cancelled = nullptr);

// The same with the program's output going where ours goes. Its exit code.
Result<int> run_attached(const std::vector<std::string>& argv);

}  // namespace inferno
