#include "apps/bench_run.h"

#include <fmt/core.h>

#include "apps/progress_bar.h"
#include "apps/validators.h"
#include "base/text.h"

namespace inferno::apps {

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
