// inferno bench: its sub-commands, one file each.
#include <utility>
#include <vector>

#include "apps/commands.h"

namespace inferno::apps {
namespace {

struct Row {
  const char* name;
  const char* summary;
  Run (*setup)(Command command);
};

constexpr Row kCommands[] = {
    {"generation", "Time the configurations of a suite on one model", setup_bench_generation},
    {"ladder", "Time one model in every way it can be run, a rung each", setup_bench_ladder},
    {"kernels", "Time single operations and write a CSV", setup_bench_kernels},
    {"peers", "Time llama-bench beside inferno on the same file", setup_bench_peers},
    {"speculation", "Time texts of several kinds with guesses ahead and without", setup_bench_speculation},
    {"compare", "Set two reports against each other and fail on a regression", setup_bench_compare},
    {"report", "Make a page or tables of reports, ladders and the history", setup_bench_report},
};

}  // namespace

Run setup_bench(Command command) {
  command.require_command();
  command.set_footer(
      "Examples:\n"
      "  inferno bench generation --model model.gguf --suite full\n"
      "  inferno bench compare before.json after.json\n"
      "  inferno bench report benchmarks/reports/*.json -o report.html");
  std::vector<std::pair<Command, Run>> runs;
  for (const Row& row : kCommands) {
    const Command sub = command.add_command(row.name, row.summary);
    runs.emplace_back(sub, row.setup(sub));
  }
  return [runs = std::move(runs)] {
    for (const auto& [sub, run] : runs) {
      if (sub.is_given()) return run();
    }
    return 2;
  };
}

}  // namespace inferno::apps
