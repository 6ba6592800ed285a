// Text that a command takes from a file or from standard input.
#pragma once

#include <string>

#include "base/result.h"

namespace inferno::apps {

// The whole content of `path`, 256 MiB at most; "-" is standard input.
Result<std::string> read_text(const std::string& path);

// Standard input without the newline at its end, which `echo` adds.
Result<std::string> read_piped_text();

// Whether something that is no terminal has text for us, of which nothing is taken. A pipe is given a moment,
// as its writer has started with us; /dev/null, a closed and a silent one have none.
bool text_waits_on_standard_input();

}  // namespace inferno::apps
