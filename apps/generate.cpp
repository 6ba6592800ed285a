// inferno generate [MODEL] [PROMPT] [N]: text on stdout as it comes, metrics on stderr.
#include <charconv>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <memory>

#include "apps/commands.h"
#include "apps/generation_report.h"
#include "apps/model_options.h"
#include "apps/output.h"
#include "apps/signals.h"
#include "base/log.h"
#include "base/text.h"

namespace inferno::apps {
namespace {

constexpr const char* kDefaultPrompt = "Once upon a time";

struct Options {
  std::vector<std::string> arguments;  // [MODEL] [PROMPT] [N]
  std::vector<int32_t> prompt_ids;
  std::optional<int64_t> max_new_tokens;
  sampling::SamplingParams sampling;
  std::vector<std::string> stop;
  bool ignore_eos = false;
  bool json = false;
  std::string metrics = "summary";
  ModelOptions model;
};

// What the positional arguments mean, in the order they come.
struct Arguments {
  std::string model_path;  // empty: the demo model
  std::string prompt = kDefaultPrompt;
  int64_t max_new_tokens = 256;
};

Result<int64_t> parse_count(const std::string& text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) {
    return make_error(ErrorCode::kInvalidArgument, "max_new_tokens: expected a number >= 0, found {}", inferno::quoted(text));
  }
  return value;
}

Result<Arguments> understand(const Options& options) {
  Arguments result;
  auto next = options.arguments.begin();
  const auto end = options.arguments.end();
  if (next != end && names_a_model(*next)) result.model_path = *next++;
  if (next != end && options.prompt_ids.empty()) result.prompt = *next++;
  if (next != end) {
    TRY_ASSIGN(result.max_new_tokens, parse_count(*next++));
  }
  if (next != end) {
    return make_error(ErrorCode::kInvalidArgument, "{} is one argument too many: expected [MODEL] [PROMPT] [N]",
                      inferno::quoted(*next));
  }
  if (options.max_new_tokens) result.max_new_tokens = *options.max_new_tokens;
  if (result.prompt == "-") {
    result.prompt.assign(std::istreambuf_iterator<char>(std::cin), {});
  }
  return result;
}

void write_stderr(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
}

// The profile of everything that ran, under INFERNO_LOG=trace.
void log_profile(backend::Backend& backend) {
  if (log::enabled(log::Level::kTrace, "inferno::backend")) {
    log::block(log::Level::kTrace, "inferno::backend", "operations", backend.profile().table());
  }
}

Result<int> run(const Options& options) {
  const std::atomic<bool>& cancelled = install_signal_flag();
  TRY_ASSIGN(const Arguments arguments, understand(options));
  TRY(sampling::validate(options.sampling));
  engine::Request request;
  TRY_ASSIGN(request.kv_type, kv_type(options.model));
  TRY_ASSIGN(const model::LoadedModel loaded, load_model(arguments.model_path, options.model));
  backend::Backend& backend = loaded.model->backend();
  backend.set_profiling(log::enabled(log::Level::kTrace, "inferno::backend"));

  request.prompt_ids = options.prompt_ids;
  if (request.prompt_ids.empty()) {
    TRY_ASSIGN(request.prompt_ids, loaded.tokenizer->encode(arguments.prompt));
  }
  request.max_new_tokens = arguments.max_new_tokens;
  request.sampling = options.sampling;
  request.stop = options.stop;
  request.ignore_end = options.ignore_eos;
  request.use_kv_cache = !options.model.no_kv;

  const bool streams = !options.json;
  if (streams && stdout_is_terminal() && options.prompt_ids.empty()) {
    write_stdout(dim(for_terminal(arguments.prompt), false));
  }
  metrics::Metrics metrics;
  const auto on_text = [&](std::string_view text) {
    return !streams || write_stdout(stdout_is_terminal() ? for_terminal(text) : std::string(text));
  };
  TRY_ASSIGN(const engine::Generated generated,
             engine::generate(*loaded.model, loaded.tokenizer, request, metrics, on_text, &cancelled));
  if (streams) write_stdout("\n");
  log_profile(backend);

  std::optional<Bandwidth> bandwidth;
  if (options.json || options.metrics != "none") {
    TRY_ASSIGN(bandwidth, measure_bandwidth(backend, generated, metrics));
  }
  if (options.json) {
    const nlohmann::ordered_json json = {{"model", loaded.model->config().name},
                                         {"backend", backend.info().backend},
                                         {"prompt_ids", request.prompt_ids},
                                         {"generated_ids", generated.ids},
                                         {"text", generated.text},
                                         {"finish_reason", engine::name(generated.finish_reason)},
                                         {"metrics", metrics_json(metrics, bandwidth)}};
    write_stdout(json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
  } else if (options.metrics != "none") {
    write_stderr("\n" + metrics.summary(options.metrics == "full") + bandwidth_line(bandwidth));
  }
  const int written = finish_stdout();
  return signal_exit_code() != 0 ? signal_exit_code() : written;
}

}  // namespace

Run setup_generate(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("arguments", options->arguments,
                 "MODEL is a .gguf file; without it the demo model inside runs. PROMPT defaults to \"Once upon a "
                 "time\", - reads it from standard input. N is as -n")
      ->option_text("[MODEL] [PROMPT] [N]");
  app.add_option("--prompt-ids", options->prompt_ids, "Token ids instead of a text: 1,2,3")->delimiter(',');
  app.add_option("-n,--max-new-tokens", options->max_new_tokens, "Tokens to generate at most (256)")
      ->check(count_validator());
  app.add_option("-t,--temperature", options->sampling.temperature, "0 takes the likeliest token")
      ->capture_default_str();
  app.add_option("--top-k", options->sampling.top_k, "Keep the k likeliest; 0 keeps all")->capture_default_str();
  app.add_option("--top-p", options->sampling.top_p, "Keep the likeliest that sum up to p")->capture_default_str();
  app.add_option("--min-p", options->sampling.min_p, "Drop what is less likely than p times the likeliest")
      ->capture_default_str();
  app.add_option("--repetition-penalty", options->sampling.repetition_penalty, "Above 1 discourages repetition")
      ->capture_default_str();
  app.add_option("--seed", options->sampling.seed, "Same seed, same text")->capture_default_str();
  app.add_option("--stop", options->stop, "End before this text; may be given several times")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_flag("--ignore-eos", options->ignore_eos, "Go on after an end-of-sequence token");
  app.add_option("--metrics", options->metrics, "What to report on stderr; full has a line per forward pass")
      ->check(CLI::IsMember({"none", "summary", "full"}))
      ->capture_default_str();
  app.add_flag("--json", options->json, "One JSON object on stdout instead of text");
  add_model_options(app, options->model, true);
  app.footer(
      "Examples:\n"
      "  inferno generate                                        a tale by the demo model\n"
      "  inferno generate \"The little dragon\" -t 0.8 --seed 7    another one, sampled\n"
      "  inferno generate model.gguf \"Once upon a time\" 64       64 tokens by a model of yours\n"
      "  inferno generate model.gguf --prompt-ids 1,2,3 --json   ids in, everything out");
  return [options] {
    const Result<int> code = run(*options);
    return code ? *code : fail(code.error());
  };
}

}  // namespace inferno::apps
