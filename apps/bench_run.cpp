#include "apps/bench_run.h"

#include <fmt/core.h>

#include <algorithm>

#include "apps/progress_bar.h"
#include "apps/validators.h"
#include "base/memory.h"
#include "base/text.h"
#include "model/config.h"

namespace inferno::apps {
Result<uint64_t> kv_bytes(const gguf::File& file, DType kv_type, int64_t tokens) {
  TRY_ASSIGN(const model::ModelConfig config, model::read_config(file));
  kv::Config kv{.layers = {}, .dtype = kv_type};
  for (const model::LayerConfig& layer : config.layers)
    kv.layers.push_back({layer.n_kv_heads, config.head_dim});
  TRY(kv::check_type(kv));
  return bench::cache_bytes(kv, std::min(tokens, config.context_length));
}

Status check_memory(const gguf::File& file, uint64_t kv_bytes) {
  uint64_t weights = 0;
  for (const gguf::TensorInfo& info : file.tensors()) weights += info.tensor.bytes();
  const auto available = available_memory();
  if (!available || weights + kv_bytes <= *available) return {};
  return make_error(ErrorCode::kResource,
                    "{}: needs {} of memory, {} of weights and {} of keys and values; {} are available",
                    escaped(file.path(), 4096), human_bytes(weights + kv_bytes), human_bytes(weights),
                    human_bytes(kv_bytes), human_bytes(*available));
}

void add_run_options(Command command, bench::RunOptions& options) {
  command.add_option("--warmup-runs", options.warmup_runs, "Runs before the timed ones")
      .check(whole_number(1000))
      .show_default();
  command
      .add_option("--trials", options.trials,
                  "Timed runs of each configuration; up to twice as many where others take processor time")
      .check(whole_number_from(1, 1000))
      .show_default()
      .value_name("N");
  command
      .add_option("--max-seconds", options.max_seconds,
                  "Time for everything, shared among the rows; a row that it cuts says so")
      .check(seconds())
      .value_name("S");
  command
      .add_option("--prompt", options.prompt,
                  "Text that prompts are made of, repeated or cut to their length")
      .value_name("TEXT");
}

std::string progress_text(const bench::Progress& p) {
  std::string text = fmt::format("{} ({} of {})  {} {} of {}  {:4} of {} tokens  {}", p.key, p.config + 1,
                                 p.n_configs, p.warmup ? "warm-up" : "trial", p.run + 1, p.n_runs, p.tokens,
                                 p.max_new_tokens, duration_text(p.elapsed_s));
  if (p.left_s) text += fmt::format(", about {} left", duration_text(*p.left_s));
  return text;
}

}  // namespace inferno::apps
