// inferno synthesize SPEC OUT.gguf: a model of a known shape with random weights, as a file for other
// engines.
#include <fmt/core.h>

#include <chrono>
#include <cstdio>
#include <memory>

#include "apps/commands.h"
#include "apps/output.h"
#include "apps/output_file.h"
#include "apps/progress_bar.h"
#include "apps/signals.h"
#include "apps/validators.h"
#include "base/text.h"
#include "model/synthetic.h"
#include "quantize/file_type.h"

namespace inferno::apps {
namespace {

struct SynthesizeOptions {
  std::string spec;
  std::string output;
};

// The exit code.
Result<int> run(const SynthesizeOptions& options) {
  const std::atomic<bool>& cancelled = install_signal_flag();
  const std::string text = model::is_synthetic(options.spec) ? options.spec : "synthetic:" + options.spec;
  TRY_ASSIGN(const model::SyntheticSpec spec, model::parse_synthetic(text));
  TRY(check_output_file(options.output, Content::kModel));
  const uint64_t size = model::synthetic_bytes(spec);
  TRY(check_free_space(options.output, size));
  const std::string line = fmt::format("{}: {} to write\n", for_terminal(options.output), human_bytes(size));
  std::fwrite(line.data(), 1, line.size(), stderr);
  const auto start = std::chrono::steady_clock::now();
  ProgressBar bar;
  const Result<uint64_t> bytes = model::write_synthetic(
      spec, options.output,
      {.progress = [&](std::string_view what, uint64_t done, uint64_t total) { bar.show(what, done, total); },
       .cancelled = cancel_by(&cancelled)});
  bar.clear();
  if (!bytes) return not_written(options.output, bytes.error());
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  write_stdout(fmt::format("{}: {} in {:.1f} s\n", for_terminal(options.output), human_bytes(*bytes),
                           seconds.count()));
  return finish_stdout();
}

// A line for each, as the help shows them.
std::string preset_lines() {
  std::string lines;
  for (const model::Preset& preset : model::presets()) {
    lines += fmt::format("  {:<14}{}\n", preset.name, preset.title);
  }
  return lines;
}

std::string mix_names() {
  std::vector<std::string_view> names;
  for (const quantize::FileType& type : quantize::file_types()) {
    if (quantize::is_mix(type)) names.push_back(type.name);
  }
  return join(names, ", ");
}

}  // namespace

Run setup_synthesize(Command command) {
  const auto options = std::make_shared<SynthesizeOptions>();
  command
      .add_option("SPEC", options->spec,
                  "PRESET[:TYPE[:SEED]]; with synthetic: before it, it stands for a model elsewhere")
      .required()
      .value_name("");
  command.add_option("OUT", options->output, "The .gguf file to write")
      .required()
      .check(not_empty())
      .value_name("");
  command.set_footer(
      fmt::format("Presets:\n"
                  "{}\n"
                  "Types: any weight type of GGUF, q8_0, q4_k and bf16 among them, and the mixes\n"
                  "{}\n\n"
                  "Examples:\n"
                  "  inferno synthesize qwen3-0.6b:q8_0 model.gguf\n"
                  "  inferno generate synthetic:llama-3.2-1b:q4_k --ignore-eos",
                  preset_lines(), mix_names()));
  return [options] {
    const Result<int> code = run(*options);
    return code ? *code : fail(code.error());
  };
}

}  // namespace inferno::apps
