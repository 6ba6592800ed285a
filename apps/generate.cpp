// inferno generate [MODEL] [PROMPT] [N]: text on stdout as it comes, metrics on stderr.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/commands.h"
#include "apps/generation_report.h"
#include "apps/model_options.h"
#include "apps/output.h"
#include "apps/output_file.h"
#include "apps/progress_bar.h"
#include "apps/sampling_options.h"
#include "apps/signals.h"
#include "apps/telemetry_options.h"
#include "apps/text_input.h"
#include "apps/validators.h"
#include "base/atomic_file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"

namespace inferno::apps {
namespace {

constexpr const char* kDefaultPrompt = "Once upon a time";

struct GenerateOptions {
  std::vector<std::string> arguments;  // [MODEL] [PROMPT] [N]
  std::vector<int32_t> prompt_ids;
  std::optional<int64_t> max_new_tokens;
  sampling::SamplingParams sampling;
  std::vector<std::string> stop;
  bool ignore_eos = false;
  std::string speculative = "none";
  bool json = false;
  std::string metrics = "summary";
  std::string metrics_csv;  // path, or empty
  ModelOptions model;
  TelemetryOptions telemetry;
};

// What the positional arguments mean, in the order they come.
struct Arguments {
  std::string model_path;  // empty: the demo model
  std::string prompt = kDefaultPrompt;
  int64_t max_new_tokens = 256;
  bool has_count = false;        // that is, max_new_tokens was asked for
  bool is_number_alone = false;  // the prompt, typed, and without a count
};

// `first` is the first of the arguments if the demo model runs, else "".
Result<int64_t> parse_count(const std::string& text, const std::string& first) {
  if (names_a_model(text)) {
    return make_error(
        ErrorCode::kInvalidArgument,
        "{} stands where N, the tokens to generate, is expected: the model comes first: [MODEL] "
        "[PROMPT] [N]",
        quote(text));
  }
  if (const std::string complaint = whole_number().judge(text); !complaint.empty()) {
    std::string no_model;
    if (may_be_meant_as_a_model(first)) {
      no_model = fmt::format("{} is no file{}", quote(first), what_models_are(first));
      no_model += no_model.ends_with('?') ? " " : ". ";
      no_model += "If it is the prompt, what follows is ";
    }
    return make_error(ErrorCode::kInvalidArgument,
                      "{}N, the tokens to generate: {}; a prompt of several words stands in quotes", no_model,
                      complaint);
  }
  return std::stoll(text);
}

Result<Arguments> understand(const GenerateOptions& options) {
  Arguments result;
  auto next = options.arguments.begin();
  const auto end = options.arguments.end();
  for (const std::string& argument : options.arguments) {
    TRY(check_repack_cache_argument(options.model, argument));
  }
  if (next != end && names_a_model(*next)) result.model_path = *next++;
  const std::string first = next == options.arguments.begin() && next != end ? *next : "";
  const bool has_prompt = next != end || !options.prompt_ids.empty();
  if (next != end && !options.prompt_ids.empty() && !whole_number().judge(*next).empty() &&
      !names_a_model(*next)) {
    return make_error(ErrorCode::kInvalidArgument, "{} stands beside --prompt-ids, expected one prompt",
                      quote(*next));
  }
  if (next != end && options.prompt_ids.empty()) result.prompt = *next++;
  if (next != end) {
    TRY_ASSIGN(result.max_new_tokens, parse_count(*next++, first));
    result.has_count = true;
    if (options.max_new_tokens.value_or(result.max_new_tokens) != result.max_new_tokens) {
      return make_error(ErrorCode::kInvalidArgument,
                        "N is {} and -n is {}, but both are the tokens to generate; leave one out",
                        result.max_new_tokens, *options.max_new_tokens);
    }
  }
  if (next != end) {
    return make_error(ErrorCode::kInvalidArgument,
                      "{} is one argument too many; expected [MODEL] [PROMPT] [N]; a prompt of several words "
                      "stands in quotes",
                      quote(*next));
  }
  // A word alone may be meant as a model.
  if (options.prompt_ids.empty() && may_be_meant_as_a_model(first) && !whole_number().judge(first).empty()) {
    warn(fmt::format("{} is no file, so it is the prompt and the demo model runs{}", quote(first),
                     what_models_are(first)));
  }
  // Not read unasked: it may be the list that a loop of the shell reads, or a pipe that nobody closes.
  if (!has_prompt && text_waits_on_standard_input()) {
    warn(fmt::format("the text on standard input is not read: as PROMPT, - reads it; the prompt is {}",
                     quote(kDefaultPrompt)));
  }
  if (options.max_new_tokens) {
    result.max_new_tokens = *options.max_new_tokens;
    result.has_count = true;
  }
  result.is_number_alone =
      options.prompt_ids.empty() && !result.has_count && whole_number().judge(result.prompt).empty();
  if (result.prompt == "-") {
    TRY_ASSIGN(result.prompt, read_piped_text());
  }
  return result;
}

// With --metrics none stderr tells nothing, with --json stdout everything.
bool tells(const GenerateOptions& options) {
  return !options.json && options.metrics != "none";
}

void write_stderr(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
}

// The profile of everything that ran, under INFERNO_LOG=trace.
void log_profile(backend::Backend& backend) {
  if (log::enabled(log::Level::kTrace, "inferno::decode")) {
    log::block(log::Level::kTrace, "inferno::decode", "operations", backend.profile().table());
  }
}

Result<engine::Request> make_request(const GenerateOptions& options, const Arguments& arguments,
                                     const tokenizer::Tokenizer& tokenizer) {
  engine::Request request;
  request.prompt_ids = options.prompt_ids;
  if (request.prompt_ids.empty()) {
    TRY_ASSIGN(request.prompt_ids, tokenizer.encode(arguments.prompt));
  }
  TRY_ASSIGN(request.kv_type, kv_type(options.model));
  request.max_new_tokens = arguments.max_new_tokens;
  request.sampling = options.sampling;
  request.stop = options.stop;
  request.ignore_end = options.ignore_eos;
  request.use_kv_cache = !options.model.no_kv;
  request.speculate = options.speculative == "ngram";
  return request;
}

// Lines of the log would cut the text in pieces where both come to one place.
bool log_cuts_the_text() {
  return stderr_shares_stdout() && log::enabled(log::Level::kInfo, "inferno::decode");
}

// How far a prompt of several chunks is, on a terminal once it takes longer than a second.
class PromptProgress {
 public:
  explicit PromptProgress(const engine::Request& request)
      // Lines of the log would stand behind it.
      : enabled_(bar_.enabled() && request.prompt_ids.size() > engine::kPrefillChunk &&
                 !log::enabled(log::Level::kInfo, "inferno::decode")) {}

  bool enabled() const { return enabled_; }
  ProgressFn function() {
    if (!enabled_) return {};
    return [this](std::string_view, uint64_t done, uint64_t total) {
      bar_.show_line([&] { return "prompt: " + tokens_line(done, total, begin_); });
    };
  }
  void clear() { bar_.clear(); }

 private:
  ProgressBar bar_{std::chrono::seconds(1)};
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  bool enabled_;
};

// Generates with the text on stdout as it comes; on a terminal the prompt stands before it, at once unless
// its progress is shown there first.
Result<engine::Generated> stream(const model::LoadedModel& loaded, const engine::Request& request,
                                 const std::string& prompt, metrics::Metrics& metrics,
                                 metrics::ServingMetrics& serving, const std::atomic<bool>& cancelled) {
  const bool terminal = stdout_is_terminal();
  PromptProgress progress(request);
  bool written = false;
  bool prompt_waits = terminal && !prompt.empty();
  const auto show_prompt = [&] {
    progress.clear();
    if (std::exchange(prompt_waits, false)) written = write_stdout(dim(for_terminal(prompt), false));
  };
  const auto write = [&](std::string_view text) {
    show_prompt();
    written = true;
    return write_stdout(terminal ? for_terminal(text) : std::string(text));
  };
  if (log_cuts_the_text()) {
    auto generated =
        engine::generate(*loaded.model, loaded.tokenizer, request, metrics, {}, &cancelled, &serving);
    if (generated) write(generated->text + "\n");
    return generated;
  }
  if (!progress.enabled()) show_prompt();
  Result<engine::Generated> generated = engine::generate(*loaded.model, loaded.tokenizer, request, metrics,
                                                         write, &cancelled, &serving, progress.function());
  if (generated && generated->finish_reason != engine::FinishReason::kCancelled) show_prompt();
  if (generated || written) write_stdout("\n");
  return generated;
}

Result<engine::Generated> generate_silently(const model::LoadedModel& loaded, const engine::Request& request,
                                            metrics::Metrics& metrics, metrics::ServingMetrics& serving,
                                            const std::atomic<bool>& cancelled) {
  PromptProgress progress(request);
  return engine::generate(*loaded.model, loaded.tokenizer, request, metrics, {}, &cancelled, &serving,
                          progress.function());
}

void write_json(const GenerationRun& run, const metrics::ServingMetrics& serving) {
  const engine::Generated& generated = run.generated;
  const backend::DeviceInfo info = run.loaded.model->backend().info();
  const Json json = {{"model", run.loaded.model->config().name},
                     {"backend", info.backend},
                     {"isa", info.isa},
                     {"threads", info.threads},
                     {"repack_cache", repack_cache_json(run.loaded)},
                     {"prompt_ids", run.request.prompt_ids},
                     {"generated_ids", generated.ids},
                     {"text", generated.text},
                     {"finish_reason", engine::name(generated.finish_reason)},
                     {"metrics", metrics_json(run)},
                     {"phases", phases_json(generated)},
                     {"guesses", guesses_json(generated.guesses)},
                     {"head_screen", head_screen_json(generated.head_screen)},
                     {"serving", serving_json(serving)}};
  write_stdout(json_text(json, 2) + "\n");
}

Status write_metrics_csv(const std::string& path, const metrics::ServingMetrics& serving) {
  if (path.empty()) return {};
  const std::string csv = serving.csv();
  return write_file_atomically(path,
                               [&](const AppendFn& append) { return append(std::as_bytes(std::span(csv))); });
}

Result<int> run(GenerateOptions options) {
  const std::atomic<bool>& cancelled = install_signal_flag();
  TRY_ASSIGN(const Arguments arguments, understand(options));
  if (arguments.max_new_tokens == 0) warn("nothing is generated: 0 tokens were asked for");
  TRY(check_output_file(options.metrics_csv));
  TRY(check_outputs_differ({{"--metrics-csv", options.metrics_csv},
                            {"--trace", options.telemetry.trace_path},
                            {"--telemetry-csv", options.telemetry.csv_path}}));
  TRY(check_sampling(options.sampling));
  warn_of_idle_options(options.sampling);
  if (options.speculative != "none" && options.model.no_kv) {
    warn("--speculative changes nothing with --no-kv: guesses are checked against the cache");
  }
  if (options.model.head_screen.value_or(false) && (!sampling::Sampler(options.sampling).takes_highest() ||
                                                    log::enabled(log::Level::kInfo, "inferno::decode"))) {
    warn(
        "--head-screen changes nothing at temperature > 0, with --repetition-penalty or where the log has "
        "probabilities: all logits count");
  }
  TRY(kv_type(options.model));
  if (!options.model.head_screen && !sampling::Sampler(options.sampling).takes_highest()) {
    options.model.head_screen = false;  // nothing would use it
  }
  const auto start = std::chrono::steady_clock::now();
  // The prompt's tokens are known once the model's tokenizer is there; the engine counts them as well.
  const auto known_ids = static_cast<int64_t>(options.prompt_ids.size());
  TRY_ASSIGN(const model::LoadedModel loaded,
             load_model(arguments.model_path, options.model, known_ids + arguments.max_new_tokens));
  const std::chrono::duration<double, std::milli> load_time = std::chrono::steady_clock::now() - start;
  backend::Backend& backend = loaded.model->backend();
  backend.set_profiling(log::enabled(log::Level::kTrace, "inferno::decode"));
  TRY_ASSIGN(const engine::Request request, make_request(options, arguments, *loaded.tokenizer));
  if (arguments.has_count) {
    warn_of_small_context(loaded, request);
  } else if (arguments.is_number_alone) {
    warn(fmt::format("{0} is the prompt; as the number of tokens: -n {0}", arguments.prompt));
  }

  metrics::Metrics metrics;
  metrics::ServingMetrics serving;
  const std::string shown_prompt = options.prompt_ids.empty() ? arguments.prompt : "";
  TRY_ASSIGN(const engine::Generated generated,
             options.json ? generate_silently(loaded, request, metrics, serving, cancelled)
                          : stream(loaded, request, shown_prompt, metrics, serving, cancelled));
  log_profile(backend);
  TRY(write_metrics_csv(options.metrics_csv, serving));
  std::optional<Bandwidth> bandwidth;
  if (options.json || options.metrics != "none") {
    bandwidth = measure_bandwidth(backend, generated, metrics);
  }
  const GenerationRun run{loaded, load_time.count(), request, generated, metrics, bandwidth};
  if (options.json) {
    write_json(run, serving);
  } else if (tells(options) && !metrics.per_forward().empty()) {
    write_stderr("\n" + metrics_block(run, options.metrics == "full"));
  }
  if (tells(options) && !options.metrics_csv.empty()) say_written(options.metrics_csv);
  if (!options.json) warn_of_full_context(loaded, generated);
  const int written = finish_stdout();
  if (signal_exit_code() != 0) warn(interrupted_text(generated));
  return signal_exit_code() != 0 ? signal_exit_code() : written;
}

}  // namespace

Run setup_generate(Command command) {
  auto options = std::make_shared<GenerateOptions>();
  const auto add_argument = [&](const char* name, const char* description) {
    const auto read = [options](const std::string& text) {
      options->arguments.push_back(text);
      return std::string();
    };
    command.add_option_function(name, read, description);
  };
  add_argument("MODEL",
               "A file, or what is named like one: it ends in .gguf or is one word with a / in it; or "
               "synthetic:NAME:TYPE. Anything else is the PROMPT, and the demo model inside runs");
  add_argument("PROMPT", "The text to continue; - reads it from standard input (default: Once upon a time)");
  add_argument("N", "Tokens to generate at most, as -n");
  add_prompt_ids(command, options->prompt_ids, "Token ids instead of PROMPT: 1,2,3");
  command
      .add_option("-n,--max-new-tokens", options->max_new_tokens, "Tokens to generate at most (default: 256)")
      .check(whole_number())
      .value_name("N");
  add_sampling_options(command, options->sampling);
  command.add_option("--stop", options->stop, "End before this text; may be given several times")
      .check(not_empty())
      .repeatable();
  command.add_flag("--ignore-eos", options->ignore_eos, "Go on after an end-of-sequence token");
  command
      .add_option("--speculative", options->speculative,
                  "Guess tokens ahead where the text repeats itself, and check them in one pass: ngram; the "
                  "same text, sooner")
      .check(one_of({"none", "ngram"}))
      .show_default()
      .value_name("HOW");
  command
      .add_option("--metrics", options->metrics,
                  "What stderr tells at the end: none, summary or full, which has a line per forward pass")
      .check(one_of({"none", "summary", "full"}))
      .show_default()
      .value_name("WHAT");
  command
      .add_option("--metrics-csv", options->metrics_csv,
                  "Write the request's latencies and speeds as metric,n,mean,min,p50,p95,p99,max")
      .value_name("FILE");
  command.add_flag("--json", options->json, "One JSON object on stdout instead of text");
  add_head_screen_option(command, options->model);
  add_model_options(command, options->model, true);
  add_telemetry_options(command, options->telemetry);
  command.set_footer(
      "Examples:\n"
      "  inferno generate                                        a tale by the demo model\n"
      "  inferno generate \"The little dragon\" -t 0.8 --seed 7    another, sampled\n"
      "  inferno generate model.gguf \"Once upon a time\" 64       64 tokens by a model of yours\n"
      "  echo \"Once upon\" | inferno generate model.gguf -         the prompt from a pipe\n"
      "  inferno generate model.gguf --prompt-ids 1,2,3 --json   ids in, everything out");
  return [options] {
    const Says says = tells(*options) ? Says::kWhatItWrote : Says::kNothing;
    const Result<int> code = with_telemetry(options->telemetry, says, [&] { return run(*options); });
    return code ? *code : fail(code.error());
  };
}

}  // namespace inferno::apps
