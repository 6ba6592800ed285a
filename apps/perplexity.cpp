// inferno perplexity MODEL TEXT: how well a model predicts a text, and how far that is from another model.
#include "bench/perplexity.h"

#include <fmt/core.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/commands.h"
#include "apps/model_options.h"
#include "apps/output.h"
#include "apps/progress_bar.h"
#include "apps/signals.h"
#include "apps/table.h"
#include "apps/text_input.h"
#include "apps/validators.h"
#include "base/json.h"
#include "base/text.h"

namespace inferno::apps {
namespace {

struct PerplexityOptions {
  std::string model_path;
  std::string text_path;
  int64_t context = 0;
  int64_t max_chunks = 0;
  std::string base_path;
  bool json = false;
  ModelOptions model;
};

std::string plus_minus(const bench::Perplexity& perplexity) {
  return fmt::format("{:.4f} ± {:.4f}", perplexity.value(), perplexity.error());
}

// `elapsed_s` is that of both models, where there is a base.
std::string progress_line(const bench::PerplexityReport& report, double elapsed_s) {
  const double chunk_s = elapsed_s / static_cast<double>(report.n_chunks);
  const double left_s = chunk_s * static_cast<double>(report.n_all_chunks - report.n_chunks);
  return fmt::format("chunk {} of {}: {}, {:.0f} tok/s, about {} left", report.n_chunks, report.n_all_chunks,
                     plus_minus(report.perplexity), report.tokens_per_second(), duration_text(left_s));
}

std::string text_report(const bench::PerplexityReport& report) {
  std::string text = fmt::format("perplexity {}\n", plus_minus(report.perplexity));
  if (const auto& divergence = report.divergence) {
    const bench::Mean mean = divergence->mean();
    text += fmt::format("  of the base {}\n", plus_minus(divergence->base));
    text +=
        fmt::format("KL divergence from the base: mean {:.4g} ± {:.2g}, 99th percentile {:.4g}, max {:.4g}\n",
                    mean.value, mean.error(), divergence->percentile(0.99), divergence->percentile(1));
    text += fmt::format("same likeliest token as the base: {:.2f} %\n",
                        100.0 * static_cast<double>(divergence->n_same_top) / static_cast<double>(mean.n));
  }
  return text + fmt::format("{} tokens scored in {} chunk{} of {}, {:.0f} tok/s\n",
                            group_digits(static_cast<uint64_t>(report.perplexity.nll.n)), report.n_chunks,
                            report.n_chunks == 1 ? "" : "s", report.context, report.tokens_per_second());
}

Json divergence_json(const std::string& base, const bench::Divergence& divergence) {
  const bench::Mean mean = divergence.mean();
  return {{"base", base},
          {"base_perplexity", divergence.base.value()},
          {"base_perplexity_error", divergence.base.error()},
          {"kl_mean", mean.value},
          {"kl_mean_error", mean.error()},
          {"kl_p99", divergence.percentile(0.99)},
          {"kl_max", divergence.percentile(1)},
          {"same_top", static_cast<double>(divergence.n_same_top) / static_cast<double>(mean.n)}};
}

std::string json_report(const PerplexityOptions& options, const std::string& backend,
                        const bench::PerplexityReport& report) {
  Json json = {{"model", options.model_path},
               {"text", options.text_path},
               {"backend", backend},
               {"kv_type", options.model.kv_type},
               {"context", report.context},
               {"n_chunks", report.n_chunks},
               {"n_scored", report.perplexity.nll.n},
               {"mean_nll", report.perplexity.nll.value},
               {"perplexity", report.perplexity.value()},
               {"perplexity_error", report.perplexity.error()},
               {"seconds", report.seconds},
               {"tokens_per_second", report.tokens_per_second()}};
  if (report.divergence) json["divergence"] = divergence_json(options.base_path, *report.divergence);
  return json_text(json, 2) + "\n";
}

Result<int> run(const PerplexityOptions& options) {
  TRY_ASSIGN(const DType kv, kv_type(options.model));
  TRY_ASSIGN(const std::string text, read_text(options.text_path));
  if (text.empty()) {
    return make_error(ErrorCode::kInvalidArgument, "{}: expected a text, found none",
                      escaped(options.text_path, 4096));
  }
  const std::atomic<bool>& cancelled = install_signal_flag();
  TRY_ASSIGN(const model::LoadedModel loaded, load_model(options.model_path, options.model, options.context));
  std::optional<model::LoadedModel> base;
  if (!options.base_path.empty()) {
    TRY_ASSIGN(base, load_model(options.base_path, options.model, options.context));
  }
  ProgressBar bar;
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  const auto elapsed_s = [begin] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  // Of the first chunk, once it takes longer than a second; from then on chunks tell.
  bool has_chunks = false;
  const auto show_tokens = [&](std::string_view, uint64_t done, uint64_t total) {
    if (has_chunks || elapsed_s() < 1) return;
    bar.show_line([&] { return "first chunk: " + tokens_line(done, total, begin); });
  };
  TRY_ASSIGN(
      const bench::PerplexityReport report,
      bench::measure_perplexity(loaded, text,
                                {.context = options.context,
                                 .max_chunks = options.max_chunks,
                                 .kv_type = kv,
                                 .n_threads = options.model.threads,
                                 .on_chunk =
                                     [&](const bench::PerplexityReport& so_far) {
                                       has_chunks = true;
                                       bar.show_line([&] { return progress_line(so_far, elapsed_s()); });
                                     },
                                 .progress = show_tokens,
                                 .cancelled = cancel_by(&cancelled)},
                                base ? &*base : nullptr));
  bar.clear();
  if (report.n_chunks > 0) {
    write_stdout(options.json ? json_report(options, loaded.model->backend().info().backend, report)
                              : text_report(report));
  }
  const int written = finish_stdout();
  if (signal_exit_code() == 0) return written;
  warn(fmt::format("interrupted after {} of {} chunk{}", report.n_chunks, report.n_all_chunks,
                   report.n_all_chunks == 1 ? "" : "s"));
  return signal_exit_code();
}

}  // namespace

Run setup_perplexity(Command command) {
  auto options = std::make_shared<PerplexityOptions>();
  command.add_option("MODEL", options->model_path, "A .gguf file, or synthetic:PRESET[:TYPE]")
      .required()
      .check(not_empty())
      .value_name("");
  command
      .add_option("TEXT", options->text_path, "The file whose text is to be predicted; - is standard input")
      .required()
      .value_name("");
  command
      .add_option("--ctx", options->context,
                  "Tokens of a chunk (default: 512, or the model's context if less)")
      .check(whole_number_from(4, 1 << 24))
      .value_name("N");
  command.add_option("--chunks", options->max_chunks, "Measure this many chunks only (default: all)")
      .check(whole_number_from(1, 1 << 24))
      .value_name("N");
  command
      .add_option("--kl-base", options->base_path,
                  "Measure this model on the same chunks too, and the KL divergence from it")
      .check(not_empty())
      .value_name("MODEL");
  command.add_flag("--json", options->json, "Print one JSON object");
  options->model.head_screen = false;  // all logits count
  add_model_options(command, options->model, false);
  command.set_footer(
      "The text is cut into chunks; the second half of each is scored, so that every prediction has seen at\n"
      "least half a chunk. Perplexity is e to the mean of -log(probability of the token that came).\n\n"
      "Examples:\n"
      "  inferno perplexity model.gguf wiki.test.raw\n"
      "  inferno perplexity model-q4_k_m.gguf wiki.test.raw --kl-base model-f16.gguf --chunks 20");
  return [options] {
    const Result<int> code = run(*options);
    return code ? *code : fail(code.error());
  };
}

}  // namespace inferno::apps
