// inferno bench peers: our speed beside llama-bench's on the same file, in turn.
#include <memory>

#include "apps/bench_run.h"
#include "apps/commands.h"
#include "apps/model_options.h"
#include "apps/output.h"
#include "apps/progress_bar.h"
#include "apps/signals.h"
#include "bench/peers.h"

namespace inferno::apps {
namespace {

struct Options {
  bench::PeerOptions peer;
  ModelOptions model;
};

Result<int> run(Options options) {
  TRY_ASSIGN(options.peer.kv_type, kv_type(options.model));
  const std::atomic<bool>& cancelled = install_signal_flag();
  TRY_ASSIGN(gguf::File file, open_model(options.peer.model_path));
  TRY(check_memory(file, options.peer.model_path, 0));
  TRY_ASSIGN(const model::LoadedModel loaded, load_model(std::move(file), options.model));
  ProgressBar bar;
  const auto show = [&](int round, int n_rounds, std::string_view who) {
    bar.show_line([&] {
      return round == 0 ? fmt::format("warm-up  {}", who)
                        : fmt::format("round {} of {}  {}", round, n_rounds, who);
    });
  };
  TRY_ASSIGN(const bench::PeerComparison comparison,
             bench::compare_with_peer(loaded, options.peer, show, &cancelled));
  bar.clear();
  write_stdout(bench::peer_table(comparison));
  return finish_stdout();
}

}  // namespace

Run setup_bench_peers(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("MODEL", options->peer.model_path, "A .gguf file, which both read")
      ->required()
      ->check(CLI::ExistingFile);
  const auto count = [&](const char* flag, auto& value, const char* description) {
    app.add_option(flag, value, description)
        ->check(CLI::Range(1, 1 << 20))
        ->capture_default_str()
        ->type_name("N");
  };
  count("-p,--prompt-tokens", options->peer.prompt_tokens, "Tokens of the prompt test");
  count("-n,--max-new-tokens", options->peer.generated_tokens, "Tokens of the generation test");
  count("--rounds", options->peer.rounds, "Runs of each, in turn; one before them does not count");
  app.add_option("--program", options->peer.program, "llama-bench, by name or path")
      ->capture_default_str()
      ->type_name("PROGRAM");
  add_model_options(app, options->model, false);
  app.footer("Example:\n  inferno bench peers model.gguf -p 512 -n 128");
  return [options] {
    const Result<int> code = run(*options);
    if (!code && signal_exit_code() != 0) return signal_exit_code();
    return code ? *code : fail(code.error());
  };
}

}  // namespace inferno::apps
