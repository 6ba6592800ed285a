// `inferno ceilings`: how fast this machine reads memory and computes at best.
#include "backend/ceilings.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "apps/commands.h"
#include "apps/output.h"
#include "apps/table.h"
#include "backend/ceilings_cache.h"
#include "backend/cpu_isa.h"
#include "base/cpu_topology.h"

namespace inferno::apps {
namespace {

using backend::Ceilings;

struct Options {
  bool fresh = false;
  bool json = false;
};

std::string counted(size_t n, std::string_view noun) {
  return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s");
}

// Operations a clock cycle; of one thread, since with all of them the clock may be another.
double per_cycle(const Ceilings& ceilings, const Ceilings::Peak& one_thread) {
  return one_thread.gops / ceilings.clock_ghz;
}

std::vector<std::string> read_lines(const Ceilings& ceilings) {
  if (ceilings.read_gb_per_s.empty()) {
    return {"  read memory: not measured, since the memory that is available could lie in the caches"};
  }
  Table table({Align::kLeft, Align::kRight});
  table.add_row({"read memory", "GB/s"});
  for (size_t n = 1; n <= ceilings.read_gb_per_s.size(); ++n) {
    table.add_row({counted(n, "thread"), fmt::format("{:.1f}", ceilings.read_gb_per_s[n - 1])});
  }
  return table.lines();
}

// A row for each loop: with one thread, and where there are more, with all.
std::vector<std::string> peak_lines(const Ceilings& ceilings) {
  unsigned all = 1;
  for (const Ceilings::Peak& peak : ceilings.peaks) all = std::max(all, peak.threads);
  std::vector<Align> columns = {Align::kLeft, Align::kLeft, Align::kRight, Align::kRight};
  std::vector<std::string> head = {"multiply-adds", "ISA", "GOP/s of 1 thread", "per cycle"};
  if (all > 1) {
    columns.push_back(Align::kRight);
    head.push_back(fmt::format("GOP/s of {}", all));
  }
  Table table(std::move(columns));
  table.add_row(std::move(head));
  for (const Ceilings::Peak& peak : ceilings.peaks) {
    if (peak.threads != 1) continue;
    std::vector<std::string> row = {peak.arithmetic, peak.isa, fmt::format("{:.1f}", peak.gops),
                                    fmt::format("{:.1f}", per_cycle(ceilings, peak))};
    if (all > 1) {
      const auto with_all =
          std::find_if(ceilings.peaks.begin(), ceilings.peaks.end(), [&](const Ceilings::Peak& other) {
            return other.isa == peak.isa && other.arithmetic == peak.arithmetic && other.threads == all;
          });
      row.push_back(with_all == ceilings.peaks.end() ? "—" : fmt::format("{:.1f}", with_all->gops));
    }
    table.add_row(std::move(row));
  }
  return table.lines();
}

std::string text(const Ceilings& ceilings, const CpuTopology& topology, const backend::CpuIsa& isa) {
  std::string result =
      fmt::format("CPU {}: {}, {}; {}; {:.2f} GHz\n", topology.model, counted(topology.cores, "core"),
                  counted(topology.threads, "thread"), isa.name, ceilings.clock_ghz);
  result += fmt::format("measured {}{}\n", ceilings.measured_at,
                        ceilings.cached ? ", from the cache (--fresh measures anew)" : "");
  for (const auto& lines : {read_lines(ceilings), peak_lines(ceilings)}) {
    result += "\n";
    for (const std::string& line : lines) result += line + "\n";
  }
  return result + "\nA multiply-add counts as two operations.\n";
}

std::string json(const Ceilings& ceilings, const CpuTopology& topology, const backend::CpuIsa& isa) {
  nlohmann::ordered_json json = {{"cpu", topology.model},
                                 {"cores", topology.cores},
                                 {"threads", topology.threads},
                                 {"isa", isa.name},
                                 {"cached", ceilings.cached}};
  json.update(backend::ceilings_json(ceilings));
  return json.dump(2) + "\n";
}

int run_ceilings(const Options& options) {
  const auto isa = backend::chosen_isa();
  if (!isa) return fail(isa.error());
  const auto ceilings = backend::measure_cpu_ceilings({.fresh = options.fresh});
  if (!ceilings) return fail(ceilings.error());
  const CpuTopology topology = cpu_topology();
  write_stdout(options.json ? json(*ceilings, topology, **isa) : text(*ceilings, topology, **isa));
  return finish_stdout();
}

}  // namespace

Run setup_ceilings(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  app.add_flag("--fresh", options->fresh, "Measure anew, not what was measured since the machine's start");
  app.add_flag("--json", options->json, "Print one JSON object");
  app.footer(
      "Examples:\n"
      "  inferno ceilings                             about a second, later at once\n"
      "  INFERNO_FORCE_ISA=avx2 inferno ceilings      those of AVX2 and below\n"
      "  inferno ceilings --json | jq .read_gb_per_s  with 1, 2, … threads");
  return [options] { return run_ceilings(*options); };
}

}  // namespace inferno::apps
