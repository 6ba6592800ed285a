// `inferno inspect FILE`, and gguf-inspect FILE: what is inside a GGUF file.
#include <memory>
#include <string>

#include "apps/commands.h"
#include "apps/gguf_report.h"
#include "apps/output.h"
#include "gguf/file.h"

namespace inferno::apps {
namespace {

struct Options {
  std::string path;
  bool full = false;
  bool json = false;
};

int run_inspect(const Options& options) {
  const auto file = gguf::File::open(options.path);
  if (!file) return fail(file.error());
  for (const std::string& warning : file->warnings()) warn(warning);
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

Run setup_inspect(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  app.add_option("FILE", options->path, "A GGUF model; of a split model, any of its files")->required();
  app.add_flag("--full", options->full, "Show long strings and arrays whole");
  app.add_flag("--json", options->json, "Print one JSON object, everything whole");
  app.footer(
      "Examples:\n"
      "  inferno inspect model.gguf\n"
      "  inferno inspect --json model.gguf | jq .totals");
  return [options] { return run_inspect(*options); };
}

}  // namespace inferno::apps
