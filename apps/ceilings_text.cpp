#include "apps/ceilings_text.h"

#include <algorithm>
#include <vector>

#include "apps/table.h"

namespace inferno::apps {
namespace {

using backend::Ceilings;

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

}  // namespace

std::string ceilings_text(const Ceilings& ceilings, const CpuTopology& topology, std::string_view isa) {
  std::string result =
      fmt::format("CPU {}: {}, {}; {}; {:.2f} GHz\n", topology.model, counted(topology.cores, "core"),
                  counted(topology.threads, "thread"), isa, ceilings.clock_ghz);
  result += fmt::format("measured {}{}\n", ceilings.measured_at,
                        ceilings.cached ? ", from the cache (--fresh measures anew)" : "");
  if (!ceilings.steady()) {
    result += fmt::format(
        "warning: the machine was busy meanwhile: half of some figure's windows ran at {:.0f} % of the best "
        "one's\n"
        "speed or less; measure again in a quiet moment: inferno ceilings --fresh\n",
        100 * ceilings.steadiness);
  }
  for (const auto& lines : {read_lines(ceilings), peak_lines(ceilings)}) {
    result += "\n";
    for (const std::string& line : lines) result += line + "\n";
  }
  return result + "\nA multiply-add counts as two operations.\n";
}

}  // namespace inferno::apps
