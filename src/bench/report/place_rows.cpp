#include "bench/report/place_rows.h"

#include "bench/places.h"
#include "bench/report/markdown_columns.h"
#include "bench/report/markdown_table.h"

namespace inferno::bench {
namespace {

std::optional<OfCeiling> of_ceiling(const std::optional<PhaseFigures>& phase) {
  return phase ? phase->of_ceiling : std::nullopt;
}

std::vector<std::string> row(const std::string& key, const Place& place) {
  const Figures& f = place.figures;
  return {key,
          std::to_string(place.line_trip.count()),
          std::to_string(place.n_trials),
          fixed(f.limits.read_gb_per_s, 1),
          fixed(f.prompt_tps.p50, 1),
          ceiling_cell(of_ceiling(f.prefill)),
          fixed(f.prompt_parts ? std::optional(100 * f.prompt_parts->rest) : std::nullopt, 1),
          fixed(f.decode_tps ? std::optional(f.decode_tps->p50) : std::nullopt, 1),
          ceiling_cell(of_ceiling(f.decode)),
          ceiling_cell(f.decode_of_all_bytes)};
}

}  // namespace

std::vector<std::string> place_header() {
  return {"Config",        "trip ns",          "trials",       "memory GB/s",   "prefill tok/s",
          "of ceiling, %", "prompt's rest, %", "decode tok/s", "of ceiling, %", "all bytes, %"};
}

std::string place_caption() {
  return "The host moved the processors between trials, to where a cache line takes longer from one to "
         "another and back, or less long, and memory gives more or less: one machine after another. Trials "
         "during which they were moved are in none of these rows.";
}

std::vector<std::vector<std::string>> place_rows(const Report& report) {
  std::vector<std::vector<std::string>> rows;
  for (const ConfigResult& result : report.results) {
    const std::vector<Place> found = places(result, report.setting);
    if (found.size() < 2) continue;  // the other tables are of that place
    for (const Place& place : found) rows.push_back(row(result.config.key, place));
  }
  return rows;
}

}  // namespace inferno::bench
