// inferno bench generation, also called bench-generation: the seven configurations on one model.
#include <algorithm>
#include <filesystem>
#include <memory>

#include "apps/bench_run.h"
#include "apps/commands.h"
#include "apps/fitted_tables.h"
#include "apps/model_options.h"
#include "apps/output.h"
#include "apps/output_file.h"
#include "apps/progress_bar.h"
#include "apps/sampling_options.h"
#include "apps/signals.h"
#include "apps/telemetry_options.h"
#include "apps/validators.h"
#include "backend/line_trip.h"
#include "base/stolen_time.h"
#include "base/text.h"
#include "bench/describe.h"
#include "bench/report/log.h"
#include "bench/report/markdown.h"
#include "bench/report/measurements.h"
#include "bench/report/report_json.h"
#include "bench/runner.h"
#include "bench/share_gate.h"
#include "bench/suite.h"
#include "model/synthetic.h"

namespace inferno::apps {
namespace {

struct BenchGenerationOptions {
  std::string model;  // empty: the demo model
  std::string suite;
  std::vector<std::string> configs;
  std::optional<int64_t> prompt_tokens, max_new_tokens;
  sampling::SamplingParams sampling;
  bool has_sampling = false;
  std::string dtype;
  std::string device;
  bool no_save = false;
  bool json = false;
  std::string folder = "benchmarks/reports";
  std::string log;
  std::vector<std::string> previous;
  std::vector<std::string> gates;
  bench::RunOptions run;
  ModelOptions model_options;
  TelemetryOptions telemetry;
};

// What --suite, --config or the lengths ask for, and the name of that.
struct Selection {
  std::string suite;
  std::vector<bench::Config> configs;
};

Result<Selection> select(const BenchGenerationOptions& options) {
  Selection selection;
  if (options.prompt_tokens || options.max_new_tokens || options.has_sampling) {
    if (!options.suite.empty() || !options.configs.empty()) {
      return make_error(ErrorCode::kInvalidArgument,
                        "--suite and --config bring their own lengths and sampling; leave out "
                        "--prompt-tokens, --max-new-tokens and the options of sampling");
    }
    bench::Config config;
    config.key = config.report_name = "custom";
    config.prompt_tokens = options.prompt_tokens.value_or(256);
    config.max_new_tokens = options.max_new_tokens.value_or(256);
    config.sampling = options.sampling;
    config.purpose = "As asked for";
    return Selection{"custom", {config}};
  }
  if (!options.configs.empty() && !options.suite.empty()) {
    return make_error(ErrorCode::kInvalidArgument,
                      "--config picks configurations, --suite a tier; leave one out");
  }
  if (!options.configs.empty()) {
    selection.suite = join(options.configs, "-");
    for (const std::string& name : options.configs) {
      TRY_ASSIGN(bench::Config config, bench::find_config(name));
      selection.configs.push_back(std::move(config));
    }
  } else {
    selection.suite = options.suite.empty() ? "quick" : options.suite;
    TRY_ASSIGN(selection.configs, bench::suite(selection.suite));
  }
  for (bench::Config& config : selection.configs) config.sampling.seed = options.sampling.seed;
  return selection;
}

// A device is a kind of hardware, a backend one way to use it.
Status choose_backend(BenchGenerationOptions& options) {
  if (options.device.empty()) return {};
  if (options.model_options.backend != "auto") {
    return make_error(ErrorCode::kInvalidArgument, "--device and --backend say the same; leave one out");
  }
  if (options.device == "cuda") {
    options.model_options.backend = "cuda";
    return {};
  }
  for (const char* name : {"parallel", "simd", "scalar"}) {
    options.model_options.backend = name;
    if (backend::create_backend(name)) break;
  }
  return {};
}

// --dtype chooses the weights of a synthetic model that leaves them open.
std::string with_dtype(const BenchGenerationOptions& options) {
  const bool open =
      model::is_synthetic(options.model) && std::count(options.model.begin(), options.model.end(), ':') == 1;
  return open && !options.dtype.empty() ? options.model + ":" + options.dtype : options.model;
}

// Of any other model it says what is expected.
Status check_dtype(const BenchGenerationOptions& options, const gguf::File& file) {
  const auto spec = model::parse_synthetic(options.model);
  const std::string_view most = spec ? name(spec->dtype) : name(bench::main_weight_type(file));
  const std::string_view actual = spec ? model::type_name(*spec) : most;  // of a mix either will do
  if (options.dtype.empty() || equals_ignoring_case(options.dtype, actual) ||
      equals_ignoring_case(options.dtype, most))
    return {};
  return make_error(ErrorCode::kInvalidArgument, "--dtype {}: the weights of {} are {}", options.dtype,
                    options.model.empty() ? "the demo model" : escaped(options.model, 4096), actual);
}

Result<std::vector<bench::Report>> read_previous(const std::vector<std::string>& paths) {
  std::vector<bench::Report> reports;
  for (const std::string& path : paths) {
    TRY_ASSIGN(bench::Report report, bench::read_report(path));
    reports.push_back(std::move(report));
  }
  return reports;
}

// The report of the same name that is there already becomes NAME.previous.json, to be compared with.
Status keep_previous(const std::string& folder, const bench::Setting& setting) {
  const std::filesystem::path path = std::filesystem::path(folder) / bench::report_file_name(setting);
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return {};
  auto kept = path;
  kept.replace_extension(".previous.json");
  std::filesystem::rename(path, kept, error);
  if (error)
    return make_error(ErrorCode::kIo, "{}: cannot be kept: {}", escaped(kept.string(), 4096),
                      error.message());
  return {};
}

// The report into its folder and the log, after it has been shown: a full disk loses no number.
Status save(const BenchGenerationOptions& options, const bench::Report& report) {
  if (!options.no_save) {
    TRY(keep_previous(options.folder, report.setting));
    TRY_ASSIGN(const std::string path, bench::write_report(options.folder, report));
    if (!options.json) write_stdout(fmt::format("\nReport: {}\n", path));
  }
  if (!options.log.empty()) TRY(bench::append_to_log(options.log, bench::log_entry(report)));
  return {};
}

// Whatever would make the numbers worthless is found before the model is loaded.
Result<model::LoadedModel> load(const BenchGenerationOptions& options,
                                const std::vector<bench::Config>& configs) {
  TRY_ASSIGN(auto backend, create_backend(options.model_options));
  TRY_ASSIGN(gguf::File file, open_model(options.model));
  TRY(check_dtype(options, file));
  int64_t tokens = 0;
  for (const bench::Config& config : configs) {
    tokens = std::max(tokens, config.prompt_tokens + config.max_new_tokens);
  }
  TRY(check_memory(file, 0, *backend));
  TRY_ASSIGN(const uint64_t cache, kv_bytes(file, options.run.kv_type, tokens));
  TRY(check_memory(file, cache, *backend));
  return load_model(std::move(file), std::move(backend), options.model_options);
}

Result<std::vector<bench::ShareBound>> read_gates(const std::vector<std::string>& texts) {
  std::vector<bench::ShareBound> bounds;
  for (const std::string& text : texts) {
    TRY_ASSIGN(const bench::ShareBound bound, bench::parse_share_bound(text));
    bounds.push_back(bound);
  }
  return bounds;
}

// Nor may the work be for nothing.
Status check_outputs(const BenchGenerationOptions& options) {
  if (!options.no_save) TRY(check_output_folder(options.folder, "--output-dir, or --no-save"));
  return options.log.empty() ? Status() : bench::check_log(options.log);
}

Result<int> run(BenchGenerationOptions options) {
  TRY_ASSIGN(const Selection selection, select(options));
  TRY_ASSIGN(const std::vector<bench::ShareBound> gates, read_gates(options.gates));
  TRY(check_outputs(options));
  TRY(check_sampling(options.sampling));
  if (options.has_sampling) warn_of_idle_options(options.sampling);
  TRY(choose_backend(options));
  TRY_ASSIGN(options.run.kv_type, kv_type(options.model_options));
  options.run.measures_ceilings = true;
  options.run.stolen_time = stolen_time;
  options.run.line_trip = backend::line_trip;
  TRY_ASSIGN(const std::vector<bench::Report> previous, read_previous(options.previous));
  options.model = with_dtype(options);
  const std::atomic<bool>& cancelled = install_signal_flag();
  TRY_ASSIGN(const model::LoadedModel loaded, load(options, selection.configs));

  bench::Report report;
  TRY_ASSIGN(report.setting, bench::describe(loaded, options.run, options.model, selection.suite,
                                             options.sampling.seed, signal_came));
  ProgressBar bar;
  bench::Runner runner(
      loaded, options.run,
      [&](const bench::Progress& progress) { bar.show_line([&] { return progress_text(progress); }); },
      &cancelled);
  TRY_ASSIGN(report.results, runner.run(selection.configs));
  bar.clear();
  const auto was_run = [](const bench::ConfigResult& result) { return !result.trials.empty(); };
  if (signal_exit_code() == 0 && std::none_of(report.results.begin(), report.results.end(), was_run)) {
    return make_error(ErrorCode::kRuntime, "nothing was measured: {}", report.results.front().note);
  }
  write_stdout(options.json
                   ? bench::to_json(report)
                   : fitted_tables(bench::markdown(std::span(&report, 1), previous), stdout_columns()));
  if (signal_exit_code() != 0) {
    warn("interrupted: what was measured is shown, but neither saved nor added to the history");
    finish_stdout();
    return signal_exit_code();
  }
  TRY(save(options, report));
  const int code = finish_stdout();
  const std::vector<std::string> missed = bench::missed_bounds(report, gates);
  if (code != 0 || missed.empty()) return code;
  return make_error(ErrorCode::kRuntime, "the gate is missed:\n  {}", join(missed, "\n  "));
}

std::vector<std::string> strings(const std::vector<std::string_view>& names) {
  return {names.begin(), names.end()};
}

void add_output_options(Command command, BenchGenerationOptions& options) {
  command.add_option("--output-dir", options.folder, "Where the JSON report goes")
      .show_default()
      .value_name("FOLDER");
  command.add_flag("--no-save", options.no_save, "Write no report");
  command.add_flag("--json", options.json, "The report as JSON on stdout instead of tables");
  command.add_option("--log", options.log, "Add a line to this history, such as bench/log/generation.jsonl")
      .value_name("FILE");
  command.add_option("--previous", options.previous, "Earlier reports, for the table of speed-ups")
      .value_name("FILE")
      .repeatable();
  command
      .add_option("--gate", options.gates,
                  "Exit code 1 where this share is missed: prompt, decode (as if all of the head were read), "
                  "matrices and attention at least, rest (of a prompt) at most; may be given several times")
      .value_name("FIGURE=PERCENT")
      .repeatable();
}

std::string config_keys() {
  std::vector<std::string_view> keys;
  const Result<std::vector<bench::Config>> all = bench::suite("full");
  for (const bench::Config& config : *all) keys.push_back(config.key);
  return join(keys, ", ");
}

}  // namespace

Run setup_bench_generation(Command command) {
  auto options = std::make_shared<BenchGenerationOptions>();
  command
      .add_option("--model", options->model,
                  "A .gguf file or synthetic:NAME:TYPE; without it the demo model inside runs")
      .value_name("MODEL");
  command
      .add_option("--suite", options->suite,
                  "quick (short, medium), standard (5) or full (7); default: quick")
      .check(one_of(strings(bench::suite_names())))
      .value_name("TIER");
  command
      .add_option(
          "--config", options->configs,
          fmt::format("One configuration of the suite: {}; may be given several times", config_keys()))
      .check(one_of(strings(bench::config_names())))
      .value_name("NAME")
      .repeatable();
  command
      .add_option("--prompt-tokens", options->prompt_tokens, "A configuration of your own: its prompt (256)")
      .check(whole_number_from(1, 1 << 30))
      .value_name("N");
  command.add_option("--max-new-tokens", options->max_new_tokens, "… and the tokens that it generates (256)")
      .check(whole_number_from(1, 1 << 30))
      .value_name("N");
  add_sampling_options(command, options->sampling);
  command
      .add_option("--dtype", options->dtype,
                  "Weights of synthetic:NAME (default: q8_0); of another model, what is expected")
      .check(not_empty())
      .value_name("TYPE");
  command.add_option("--device", options->device, "cpu or cuda; --backend says it more finely")
      .check(one_of({"cpu", "cuda"}))
      .value_name("DEVICE");
  add_run_options(command, options->run);
  command.add_flag("--kv-cache{true},!--no-kv-cache", options->run.use_kv_cache,
                   "Keep keys and values of past tokens (the default), or compute all anew for every token");
  add_output_options(command, *options);
  add_telemetry_options(command, options->telemetry);
  add_head_screen_option(command, options->model_options);
  add_model_options(command, options->model_options, false);
  command.set_footer(
      "Examples:\n"
      "  inferno bench generation                                         the demo model, quick suite\n"
      "  inferno bench generation --model model.gguf --suite full         all seven configurations\n"
      "  inferno bench generation --model synthetic:qwen3-1.7b:q8_0       no download needed\n"
      "  inferno bench generation --prompt-tokens 32 --max-new-tokens 8   lengths of your own\n"
      "  inferno bench generation --gate decode=90 --gate rest=6          shares of the ceiling to hold");
  return [options, command] {
    for (const char* flag : {"--temperature", "--top-k", "--top-p", "--min-p", "--repetition-penalty"}) {
      options->has_sampling |= command.is_given(flag);
    }
    const Says says = options->json ? Says::kNothing : Says::kWhatItWrote;
    const Result<int> code = with_telemetry(options->telemetry, says, [&] { return run(*options); });
    return code ? *code : fail(code.error());
  };
}

}  // namespace inferno::apps
