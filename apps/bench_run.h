// What the benchmark commands have in common: how runs are asked for, and how long they still take.
#pragma once

#include <string>

#include "apps/command_line.h"
#include "base/result.h"
#include "bench/runner.h"
#include "gguf/file.h"

namespace inferno::apps {

// kResource, with the sum, when weights and `kv_bytes` are more than there is memory for: the speeds would be
// those of the disk. A synthetic model is in memory already.
Status check_memory(const gguf::File& file, uint64_t kv_bytes);

// Bytes of the keys and values that `tokens` positions of this model need; errors as kv::check_type().
Result<uint64_t> kv_bytes(const gguf::File& file, DType kv_type, int64_t tokens);

// --warmup-runs, --trials, --max-seconds, --prompt.
void add_run_options(Command command, bench::RunOptions& options);

// "short (1 of 2)  trial 2 of 3    41 of 64 tokens  12 s, about 31 s left"
std::string progress_text(const bench::Progress& progress);

}  // namespace inferno::apps
