// inferno bench peers: our speed beside llama-bench's on the same file, in turn.
#include <filesystem>
#include <memory>
#include <optional>

#include "apps/bench_run.h"
#include "apps/commands.h"
#include "apps/fitted_tables.h"
#include "apps/measured_ceilings.h"
#include "apps/model_options.h"
#include "apps/output.h"
#include "apps/progress_bar.h"
#include "apps/signals.h"
#include "apps/temporary_folder.h"
#include "apps/validators.h"
#include "backend/ceilings.h"
#include "base/cpu_topology.h"
#include "base/text.h"
#include "bench/describe.h"
#include "bench/peers.h"
#include "model/synthetic.h"

namespace inferno::apps {
namespace {

struct BenchPeersOptions {
  bench::PeerOptions peer;
  ModelOptions model;
};

// The synthetic model as a file of that folder; its path.
Result<std::string> write_model(const std::string& spec_text, const TemporaryFolder& folder,
                                const std::atomic<bool>& cancelled) {
  TRY_ASSIGN(const model::SyntheticSpec spec, model::parse_synthetic(spec_text));
  const std::string path = folder.path() + "/model.gguf";
  const uint64_t free = folder.free_bytes().value_or(UINT64_MAX);
  uint64_t needed = 0;
  std::atomic<bool> stop = false;
  ProgressBar bar;
  const auto progress = [&](std::string_view, uint64_t done, uint64_t total) {
    bar.show("writing", done, total);
    needed = total;
    stop = cancelled || needed > free;
  };
  const auto written =
      model::write_synthetic(spec, path, {.progress = progress, .cancelled = cancel_by(&stop)});
  bar.clear();
  if (cancelled) return make_error(ErrorCode::kCancelled, "interrupted");
  if (needed > free) {
    return make_error(ErrorCode::kResource,
                      "{}: needs a file of {}, and {} are free in {}; set TMPDIR to a folder with more room",
                      escaped(spec_text, 4096), human_bytes(needed), human_bytes(free),
                      escaped(std::filesystem::path(folder.path()).parent_path().string(), 4096));
  }
  TRY(written);
  return path;
}

Result<bench::Limits> measure_limits(const model::LoadedModel& loaded) {
  backend::Backend& backend = loaded.model->backend();
  TRY_ASSIGN(const backend::Ceilings ceilings, measured_ceilings(backend));
  if (!ceilings.steady()) {
    warn(backend.info().is_cpu()
             ? "the ceilings were measured on a busy machine; in a quiet moment: inferno ceilings --fresh"
             : "the ceilings were measured while the device was busy; run again in a quiet moment");
  }
  return bench::limits(ceilings, backend.info(), name(bench::main_weight_type(loaded.model->file())));
}

Result<int> run(BenchPeersOptions options) {
  TRY_ASSIGN(options.peer.kv_type, kv_type(options.model));
  TRY_ASSIGN(options.peer.program, bench::find_peer(options.peer.program));  // before anything takes long
  if (cpu_topology().nodes.size() > 1) options.peer.numa = options.model.numa;
  const std::atomic<bool>& cancelled = install_signal_flag();
  TRY_ASSIGN(auto backend, create_backend(options.model));  // before a model is written for nothing
  std::optional<TemporaryFolder> folder;
  if (model::is_synthetic(options.peer.model_path)) {
    TRY_ASSIGN(TemporaryFolder made, TemporaryFolder::make());
    folder.emplace(std::move(made));
    TRY_ASSIGN(options.peer.model_path, write_model(options.peer.model_path, *folder, cancelled));
  }
  TRY_ASSIGN(gguf::File file, open_model(options.peer.model_path));
  TRY(check_memory(file, 0, *backend));
  TRY_ASSIGN(const model::LoadedModel loaded, load_model(std::move(file), std::move(backend), options.model));
  TRY_ASSIGN(options.peer.limits, measure_limits(loaded));
  options.peer.measures_ceilings = true;
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
  write_stdout(fitted_tables(bench::peer_table(comparison), stdout_columns()));
  const bool on_cpu = loaded.model->backend().info().is_cpu();
  if (loaded.model->weights().bytes() < backend::uncached_bytes(on_cpu ? cpu_topology().l3_bytes : 0)) {
    write_stdout("The weights may lie in the caches: a share of the read bandwidth may pass 100 %.\n");
  }
  return finish_stdout();
}

}  // namespace

Run setup_bench_peers(Command command) {
  auto options = std::make_shared<BenchPeersOptions>();
  options->model.head_screen = false;  // the same work: llama-bench computes every logit
  command
      .add_option(
          "MODEL", options->peer.model_path,
          "A .gguf file, which both read; or synthetic:NAME:TYPE, which is written to a temporary one")
      .required()
      .check(not_empty());
  const auto count = [&](const char* flag, auto& value, const char* description) {
    command.add_option(flag, value, description)
        .check(whole_number_from(1, 1 << 20))
        .show_default()
        .value_name("N");
  };
  count("-p,--prompt-tokens", options->peer.prompt_tokens, "Tokens of the prompt test");
  count("-n,--max-new-tokens", options->peer.generated_tokens, "Tokens of the generation test");
  count("--rounds", options->peer.rounds, "Runs of each, in turn; one before them does not count");
  command.add_option("--program", options->peer.program, "llama-bench, by name or path")
      .show_default()
      .value_name("PROGRAM");
  add_model_options(command, options->model, false);
  command.set_footer(
      "Examples:\n"
      "  inferno bench peers model.gguf -p 512 -n 128\n"
      "  inferno bench peers synthetic:qwen3-0.6b:q8_0   the file is in $TMPDIR while it runs");
  return [options] {
    const Result<int> code = run(*options);
    if (!code && signal_exit_code() != 0) return signal_exit_code();
    return code ? *code : fail(code.error());
  };
}

}  // namespace inferno::apps
