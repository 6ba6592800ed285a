// model-generate <gguf_path> [prompt] [max_new_tokens]: greedy generation with every number on stdout.
#include <memory>

#include "apps/commands.h"
#include "apps/generation_report.h"
#include "apps/model_options.h"
#include "apps/output.h"
#include "apps/signals.h"
#include "apps/validators.h"
#include "base/log.h"
#include "base/text.h"

namespace inferno::apps {
namespace {

struct ModelGenerateOptions {
  std::string gguf_path;
  std::string prompt = "hello world";
  int64_t max_new_tokens = 20;
  ModelOptions model;
};

Result<int> run(const ModelGenerateOptions& options) {
  const std::atomic<bool>& cancelled = install_signal_flag();
  engine::Request request;
  TRY_ASSIGN(request.kv_type, kv_type(options.model));
  TRY_ASSIGN(const model::LoadedModel loaded,
             load_model(options.gguf_path, options.model, options.max_new_tokens));
  backend::Backend& backend = loaded.model->backend();
  const bool profiling = log::enabled(log::Level::kTrace, "inferno::decode");
  backend.set_profiling(profiling);
  TRY_ASSIGN(request.prompt_ids, loaded.tokenizer->encode(options.prompt));
  request.max_new_tokens = options.max_new_tokens;
  request.use_kv_cache = !options.model.no_kv;
  warn_of_small_context(loaded, request);

  const auto eos = loaded.tokenizer->eos_id();
  const std::string header = fmt::format("prompt: {}\nprompt tokens ({}): [{}]\neos token id: {}\n\n",
                                         quote(options.prompt), request.prompt_ids.size(),
                                         join(request.prompt_ids, ", "), eos ? std::to_string(*eos) : "—");
  if (!write_stdout(header)) return finish_stdout();
  metrics::Metrics metrics;
  TRY_ASSIGN(const engine::Generated generated,
             engine::generate(*loaded.model, loaded.tokenizer, request, metrics, {}, &cancelled));
  TRY_ASSIGN(const std::string text, loaded.tokenizer->decode(generated.ids));
  if (profiling) log::block(log::Level::kTrace, "inferno::decode", "operations", backend.profile().table());

  write_stdout("\n");
  metrics.print_summary();
  write_stdout(fmt::format("\ngenerated tokens ({}): [{}]\ngenerated text: {}\n", generated.ids.size(),
                           join(generated.ids, ", "), quote(text)));
  warn_of_full_context(loaded, generated);
  const int written = finish_stdout();
  if (signal_exit_code() != 0) warn(interrupted_text(generated));
  return signal_exit_code() != 0 ? signal_exit_code() : written;
}

}  // namespace

Run setup_model_generate(Command command) {
  auto options = std::make_shared<ModelGenerateOptions>();
  command.add_option("gguf_path", options->gguf_path, "The model").required();
  command.add_option("prompt", options->prompt, "What to continue").show_default();
  command.add_option("max_new_tokens", options->max_new_tokens, "Tokens to generate at most")
      .check(whole_number())
      .show_default();
  add_model_options(command, options->model, true);
  command.set_footer("Example:\n  INFERNO_LOG=info model-generate model.gguf \"Once upon a time\" 16");
  return [options] {
    const Result<int> code = run(*options);
    return code ? *code : fail(code.error());
  };
}

}  // namespace inferno::apps
