// `inferno ceilings`: how fast this machine reads memory and computes at best.
#include "backend/ceilings.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "apps/ceilings_text.h"
#include "apps/commands.h"
#include "apps/measured_ceilings.h"
#include "apps/model_options.h"
#include "apps/output.h"
#include "apps/signals.h"
#include "backend/ceilings_cache.h"
#include "backend/cpu_isa.h"
#include "base/cpu_topology.h"
#include "base/json.h"

namespace inferno::apps {
namespace {

using backend::Ceilings;

struct CeilingsOptions {
  bool fresh = false;
  bool json = false;
};

std::string json(const Ceilings& ceilings, const CpuTopology& topology, const backend::CpuIsa& isa) {
  Json json = {{"cpu", topology.model},
               {"cores", topology.cores},
               {"threads", topology.threads},
               {"isa", isa.name},
               {"cached", ceilings.cached}};
  json.update(backend::ceilings_json(ceilings));
  return json_text(json, 2) + "\n";
}

int run_ceilings(const CeilingsOptions& options) {
  const auto isa = backend::chosen_isa();
  if (!isa) return fail(isa.error());
  warn_of_missed_isa();
  install_signal_flag();
  const auto ceilings = measured_ceilings(options.fresh, [&] {
    return backend::measure_cpu_ceilings({.fresh = options.fresh, .cancelled = signal_came});
  });
  if (!ceilings) return fail(ceilings.error());
  const CpuTopology topology = cpu_topology();
  write_stdout(options.json ? json(*ceilings, topology, **isa)
                            : ceilings_text(*ceilings, topology, (*isa)->name));
  return finish_stdout();
}

}  // namespace

Run setup_ceilings(Command command) {
  const auto options = std::make_shared<CeilingsOptions>();
  command.add_flag("--fresh", options->fresh,
                   "Measure anew, not what was measured since the machine's start");
  command.add_flag("--json", options->json, "Print one JSON object");
  command.set_footer(
      "Examples:\n"
      "  inferno ceilings                             some seconds, later at once\n"
      "  INFERNO_FORCE_ISA=avx2 inferno ceilings      those of AVX2 and below\n"
      "  inferno ceilings --json | jq .read_gb_per_s  with 1, 2, … threads");
  return [options] { return run_ceilings(*options); };
}

}  // namespace inferno::apps
