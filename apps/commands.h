// The sub-commands of `inferno`: one file each. setup_x() declares a command's options and returns
// what runs it; that returns the process's exit code (0 ok; 1 load, run or resource error; 2 usage or an
// absent backend).
#pragma once

#include <functional>
#include <span>

#include "apps/command_line.h"

namespace inferno::apps {

using Run = std::function<int()>;

struct CommandRow {
  const char* name;  // of the sub-command, or nullptr
  const char* link;  // the name under which it is a program of its own, or nullptr
  const char* summary;
  Run (*setup)(Command command);
};
std::span<const CommandRow> command_rows();

// The command that asks for the options of all others.
constexpr const char* kCompletionCommand = "completion";

// `inferno help environment`: most variables are for few readers, and longer to tell than the commands.
constexpr const char* kEnvironmentTopic = "environment";

Run setup_generate(Command command);
Run setup_inspect(Command command);
Run setup_tokenize(Command command);
Run setup_logits(Command command);
Run setup_perplexity(Command command);
Run setup_synthesize(Command command);
Run setup_quantize(Command command);
Run setup_ceilings(Command command);
Run setup_cache(Command command);
Run setup_completion(Command command);
Run setup_bench(Command command);

// Sub-commands of `inferno bench`.
Run setup_bench_generation(Command command);
Run setup_bench_ladder(Command command);
Run setup_bench_kernels(Command command);
Run setup_bench_peers(Command command);
Run setup_bench_speculation(Command command);
Run setup_bench_compare(Command command);
Run setup_bench_report(Command command);

// Programs of their own name, installed as links to `inferno`; bench-generation is one of them as well.
Run setup_model_generate(Command command);
Run setup_tokenizer_demo(Command command);

}  // namespace inferno::apps
