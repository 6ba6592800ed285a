#include "apps/bench_run.h"

#include <fmt/format.h>

#include <cmath>

#include "apps/validators.h"

namespace inferno::apps {
namespace {

std::string duration_text(double seconds) {
  if (seconds < 60) return fmt::format("{:.0f} s", seconds);
  return fmt::format("{:.0f} min {:02.0f} s", std::floor(seconds / 60), std::floor(std::fmod(seconds, 60)));
}

}  // namespace

void add_run_options(CLI::App& app, bench::RunOptions& options) {
  app.add_option("--warmup-runs", options.warmup_runs, "Runs before the timed ones")
      ->check(whole_number(1000))
      ->capture_default_str();
  app.add_option("--trials", options.trials, "Timed runs of each configuration")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str()
      ->type_name("N");
  app.add_option("--max-seconds", options.max_seconds,
                 "Time for everything, shared among the rows; a row that it cuts says so")
      ->check(CLI::PositiveNumber)
      ->type_name("S");
  app.add_option("--prompt", options.prompt, "Text that prompts are made of, repeated or cut to their length")
      ->type_name("TEXT");
}

std::string progress_text(const bench::Progress& p) {
  std::string text = fmt::format("{} ({} of {})  {} {} of {}  {:4} of {} tokens  {}", p.key, p.config + 1,
                                 p.n_configs, p.warmup ? "warm-up" : "trial", p.run + 1, p.n_runs, p.tokens,
                                 p.max_new_tokens, duration_text(p.elapsed_s));
  if (p.left_s) text += fmt::format(", about {} left", duration_text(*p.left_s));
  return text;
}

}  // namespace inferno::apps
