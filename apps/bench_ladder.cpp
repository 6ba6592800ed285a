// inferno bench ladder: one model, a rung for each way of running it.
#include <algorithm>
#include <memory>

#include "apps/bench_run.h"
#include "apps/commands.h"
#include "apps/fitted_tables.h"
#include "apps/model_options.h"
#include "apps/output.h"
#include "apps/output_file.h"
#include "apps/progress_bar.h"
#include "apps/signals.h"
#include "apps/validators.h"
#include "backend/line_trip.h"
#include "base/atomic_file.h"
#include "base/stolen_time.h"
#include "bench/ladder.h"

namespace inferno::apps {
namespace {

struct BenchLadderOptions {
  std::string model;
  std::string output;
  bool json = false;
  ModelOptions model_options;
  bench::LadderOptions ladder;
};

Result<int> run(BenchLadderOptions options) {
  TRY(check_output_file(options.output));
  warn_of_missed_isa();
  TRY_ASSIGN(options.ladder.run.kv_type, kv_type(options.model_options));
  options.ladder.run.measures_ceilings = true;
  options.ladder.run.stolen_time = stolen_time;
  options.ladder.run.line_trip = backend::line_trip;
  const std::atomic<bool>& cancelled = install_signal_flag();
  TRY_ASSIGN(const gguf::File file, open_model(options.model));
  TRY_ASSIGN(const auto host, backend::create_backend("scalar"));  // the first rung's
  TRY(check_memory(file, 0, *host));
  options.ladder.model_path = options.model;
  ProgressBar bar;
  const auto show = [&](std::string_view rung, size_t i, size_t n, const bench::Progress& progress) {
    bar.show_line(
        [&] { return fmt::format("rung {} of {}, {}: {}", i + 1, n, rung, progress_text(progress)); });
  };
  Result<bench::Ladder> climbed = bench::climb(file, options.ladder, show, &cancelled);
  if (!climbed && climbed.error().code == ErrorCode::kCancelled) {
    return Error{ErrorCode::kCancelled, "interrupted before anything was measured"};
  }
  TRY_ASSIGN(const bench::Ladder ladder, std::move(climbed));
  bar.clear();
  const auto was_run = [](const bench::LadderRow& row) { return row.absent.empty(); };
  if (signal_exit_code() == 0 && std::none_of(ladder.rows.begin(), ladder.rows.end(), was_run)) {
    return make_error(ErrorCode::kRuntime, "nothing was measured: {}: {}", ladder.rows.front().name,
                      ladder.rows.front().absent);
  }
  const std::string json = bench::to_json(ladder);
  write_stdout(options.json ? json : fitted_tables(bench::ladder_table(ladder), stdout_columns()));
  if (signal_exit_code() != 0) {
    warn("interrupted: what was measured is shown, but not saved");
  } else if (!options.output.empty()) {
    TRY(write_file_atomically(
        options.output, [&](const AppendFn& append) { return append(std::as_bytes(std::span(json))); }));
    if (!options.json) say_written(options.output);
  }
  const int written = finish_stdout();
  return signal_exit_code() != 0 ? signal_exit_code() : written;
}

}  // namespace

Run setup_bench_ladder(Command command) {
  auto options = std::make_shared<BenchLadderOptions>();
  command
      .add_option("--model", options->model,
                  "A .gguf file or synthetic:NAME:TYPE; without it the demo model inside runs")
      .value_name("MODEL");
  command.add_option("--prompt-tokens", options->ladder.prompt_tokens, "Tokens of the prompt")
      .check(whole_number_from(1, 1 << 20))
      .show_default()
      .value_name("N");
  command.add_option("--max-new-tokens", options->ladder.max_new_tokens, "Tokens to generate")
      .check(whole_number_from(2, 1 << 20))
      .show_default()
      .value_name("N");
  add_run_options(command, options->ladder.run);
  add_kv_type_option(command, options->model_options);
  command.add_option("-o,--output", options->output, "Write the rungs as JSON, for `inferno bench report`")
      .value_name("FILE");
  command.add_flag("--json", options->json, "JSON on stdout instead of the table");
  command.set_footer(
      "The first rungs run on the F32 expansion of the weights, so that each rung is one change.\n\n"
      "Examples:\n"
      "  inferno bench ladder\n"
      "  inferno bench ladder --model synthetic:qwen3-0.6b:q8_0 --max-seconds 300 -o ladder.json");
  return [options] {
    const Result<int> code = run(*options);
    return code ? *code : fail(code.error());
  };
}

}  // namespace inferno::apps
