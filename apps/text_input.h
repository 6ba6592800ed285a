// Text that a command takes from a file or from standard input.
#pragma once

#include <string>

#include "base/result.h"

namespace inferno::apps {

// The whole content of `path`, 256 MiB at most; "-" is standard input.
Result<std::string> read_text(const std::string& path);

// Standard input without the newline at its end, which `echo` adds.
Result<std::string> read_piped_text();

}  // namespace inferno::apps
