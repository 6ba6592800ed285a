// `inferno inspect FILE`, and gguf-inspect FILE: what is inside a GGUF file.
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "apps/commands.h"
#include "apps/gguf_report.h"
#include "apps/model_options.h"
#include "apps/output.h"
#include "apps/progress_bar.h"
#include "apps/validators.h"
#include "model/check_tensors.h"
#include "model/repack.h"

namespace inferno::apps {
namespace {

struct InspectOptions {
  std::string path;
  bool full = false;
  bool json = false;
  bool strict = false;
  bool check_tensors = false;
  ModelOptions model;  // for its repack cache
};

Status check_tensors(const gguf::File& file, const InspectOptions& options) {
  ProgressBar bar;
  const ProgressFn progress = [&](std::string_view what, uint64_t done, uint64_t total) {
    bar.show(what, done, total);
  };
  const auto tell = [&](std::string_view what) {
    bar.clear();
    if (options.json) return;
    std::fputs((std::string(what) + "\n").c_str(), stderr);
  };
  TRY(model::check_tensors(file, progress));
  tell("all weights are finite");
  TRY_ASSIGN(const std::string folder, repack_cache_folder(options.model));
  if (folder.empty()) return {};
  TRY_ASSIGN(const auto backend, create_backend(options.model));
  TRY(model::check_repack_cache(folder, file, *backend, progress));
  tell("the repack cache is as it was written");
  return {};
}

int run_inspect(const InspectOptions& options) {
  const auto file = open_model(options.path);
  if (!file) return fail(file.error());
  for (const std::string& warning : file->warnings()) {
    if (options.strict) return fail({ErrorCode::kInvalidFile, warning});
    warn(warning);
  }
  if (options.check_tensors) {
    const Status checked = check_tensors(*file, options);
    if (!checked) return fail(checked.error());
  }
  {
    StdoutBuffer out;
    if (options.json) {
      write_json_report(*file, out);
    } else {
      write_text_report(*file, options.full, out);
    }
  }
  return finish_stdout();
}

}  // namespace

Run setup_inspect(Command command) {
  const auto options = std::make_shared<InspectOptions>();
  command
      .add_option("FILE", options->path,
                  "A GGUF model; of a split model, any of its files; or synthetic:PRESET[:TYPE]")
      .required()
      .check(not_empty());
  command.add_flag("--full", options->full, "Show long strings and arrays whole");
  command.add_flag("--json", options->json, "Print one JSON object, everything whole");
  command.add_flag("--strict", options->strict,
                   "Refuse what is otherwise only warned of: bytes of no tensor");
  const Option check = command.add_flag("--check-tensors", options->check_tensors,
                                        "Read all weights; refuse one that is not finite");
  add_repack_cache_option(command, options->model,
                          "With --check-tensors: read the model's repacked weights, too")
      .needs(check);
  command.set_footer(
      "Examples:\n"
      "  inferno inspect model.gguf\n"
      "  inferno inspect --json model.gguf | jq .totals");
  return [options] { return run_inspect(*options); };
}

}  // namespace inferno::apps
