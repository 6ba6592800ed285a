// What the benchmark commands have in common: how runs are asked for, and how long they still take.
#pragma once

#include <string>

#include "apps/command_line.h"
#include "bench/runner.h"

namespace inferno::apps {

// --warmup-runs, --trials, --max-seconds, --prompt.
void add_run_options(Command command, bench::RunOptions& options);

// "short (1 of 2)  trial 2 of 3    41 of 64 tokens  12 s, about 31 s left"
std::string progress_text(const bench::Progress& progress);

}  // namespace inferno::apps
