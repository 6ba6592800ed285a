// The sub-commands of `inferno`: one file each. setup_x() declares a command's options on `app` and returns
// what runs it; that returns the process's exit code (0 ok; 1 load, run or resource error; 2 usage or an
// absent backend).
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace inferno::apps {

using Run = std::function<int()>;

Run setup_generate(CLI::App& app);
Run setup_inspect(CLI::App& app);
Run setup_tokenize(CLI::App& app);
Run setup_logits(CLI::App& app);
Run setup_perplexity(CLI::App& app);
Run setup_synthesize(CLI::App& app);
Run setup_quantize(CLI::App& app);
Run setup_ceilings(CLI::App& app);
Run setup_completion(CLI::App& app);
Run setup_bench(CLI::App& app);

// Sub-commands of `inferno bench`.
Run setup_bench_generation(CLI::App& app);
Run setup_bench_ladder(CLI::App& app);
Run setup_bench_kernels(CLI::App& app);
Run setup_bench_peers(CLI::App& app);
Run setup_bench_speculation(CLI::App& app);
Run setup_bench_compare(CLI::App& app);
Run setup_bench_report(CLI::App& app);

// Programs of their own name, installed as links to `inferno`; bench-generation is one of them as well.
Run setup_model_generate(CLI::App& app);
Run setup_tokenizer_demo(CLI::App& app);

}  // namespace inferno::apps
