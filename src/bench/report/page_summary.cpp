#include <algorithm>

#include "bench/figures.h"
#include "bench/report/markdown.h"
#include "bench/report/markdown_table.h"
#include "bench/report/page_sections.h"
#include "bench/report/place_rows.h"
#include "bench/report/svg_chart.h"

namespace inferno::bench {
namespace {

using Row = std::vector<std::string>;

std::string median(const std::optional<Quartiles>& q, int digits) {
  return fixed(q ? std::optional(q->p50) : std::nullopt, digits);
}

std::string median_and_quartiles(const std::optional<Quartiles>& q) {
  if (!q) return "—";
  return fmt::format("{} ({}–{})", fixed(q->p50, 1), fixed(q->p25, 1), fixed(q->p75, 1));
}

std::string ms_and_quartiles(const Quartiles& q) {
  return fmt::format("{} ({}–{})", milliseconds(q.p50), milliseconds(q.p25), milliseconds(q.p75));
}

std::string ceiling(const std::optional<PhaseFigures>& phase) {
  if (!phase || !phase->of_ceiling) return "—";
  const OfCeiling& of = *phase->of_ceiling;
  const std::string typical =
      of.pct_of_typical ? fmt::format(" ({} of the typical moment)", fixed(*of.pct_of_typical, 1)) : "";
  return fmt::format("{} % of {}{}{}", fixed(of.pct, 1), of.ceiling, of.partial ? "*" : "", typical);
}

Row speed_row(const ConfigResult& result, const Figures& f) {
  const auto step = [&](double metrics::Summary::*member) {
    return milliseconds(f.step_ms ? std::optional((*f.step_ms).*member) : std::nullopt);
  };
  return {result.config.key + (result.cut ? " (cut)" : ""),
          fmt::format("{} + {}", result.prompt_tokens, f.generated_tokens),
          std::to_string(result.trials.size()),
          median_and_quartiles(f.e2e_tps),
          median_and_quartiles(f.decode_tps),
          median(f.decode_forward_tps, 1),
          median(f.decode_seed_tps, 1),
          ms_and_quartiles(f.ttft_ms),
          step(&metrics::Summary::p50),
          step(&metrics::Summary::p95),
          step(&metrics::Summary::p99)};
}

Row cost_row(const Setting& setting, const ConfigResult& result, const Figures& f) {
  const auto share = [](double value) { return fixed(100 * value, 1); };
  const auto of_prompt = [&](double (*part)(const PromptFigures&)) {
    return f.prompt_parts ? share(part(*f.prompt_parts)) : "—";
  };
  return {result.config.key,
          ceiling(f.prefill),
          ceiling(f.decode),
          fixed(f.decode ? std::optional(f.decode->gb_per_s) : std::nullopt, 2),
          fixed(f.bytes_per_token / 1e6, 1),
          share(f.shares.prefill),
          of_prompt([](const PromptFigures& p) { return p.matrices.share; }),
          of_prompt([](const PromptFigures& p) { return p.attention.share; }),
          of_prompt([](const PromptFigures& p) { return p.rest; }),
          share(f.shares.decode),
          share(f.shares.sampling),
          share(f.shares.detokenization),
          share(f.shares.other),
          cache_mb(setting, result)};
}

std::string setting_sentence(const Setting& s) {
  return fmt::format("{} weights, {}; {}: {} backend, {}, {} thread{}; inferno {}{}{}; {}{}", s.dtype,
                     s.use_kv_cache ? s.kv_type + " KV cache" : "no KV cache", s.device_name,
                     s.device.backend, s.device.isa, s.device.threads, s.device.threads == 1 ? "" : "s",
                     s.engine_version, s.git_revision.empty() ? "" : " at ", s.git_revision, s.timestamp,
                     s.ceilings.steady() ? "" : "; its ceilings were measured on a busy machine");
}

std::string report_tables(const Report& report, const std::string& name) {
  std::vector<Row> speed;
  std::vector<Row> cost;
  std::string notes;
  for (const ConfigResult& result : report.results) {
    if (!result.note.empty()) {
      notes += fmt::format("<li>{}: {}</li>\n", html_escaped(result.config.key), html_escaped(result.note));
    }
    const auto f = figures(result, report.setting);
    if (!f) continue;
    speed.push_back(speed_row(result, *f));
    cost.push_back(cost_row(report.setting, result, *f));
  }
  const std::vector<Row> by_place = place_rows(report);
  if (!notes.empty()) notes = "<ul class='muted'>\n" + notes + "</ul>\n";
  if (speed.empty() && notes.empty()) return "";
  return fmt::format("<h3>{}</h3>\n<p class='muted'>{}</p>\n", html_escaped(name),
                     html_escaped(setting_sentence(report.setting))) +
         html_table("Medians over trials, quartiles in parentheses",
                    {"Config", "Tokens", "Trials", "E2E tok/s", "Decode tok/s", "… forward passes only",
                     "… as the seed counts", "TTFT ms", "Step P50 ms", "P95", "P99"},
                    speed, 1) +
         html_table("Ceilings, traffic and shares of the wall time",
                    {"Config", "Prefill of ceiling", "Decode of ceiling", "Decode GB/s", "MB/token",
                     "Prefill time %", "Prompt: matrices %", "Prompt: attention %", "Prompt: rest %",
                     "Decode time %", "Sampling %", "Detok %", "Other %", "KV MB"},
                    cost, 1) +
         (by_place.empty() ? "" : html_table(place_caption(), place_header(), by_place, 1)) + notes;
}

}  // namespace

std::string html_table(const std::string& caption, const std::vector<std::string>& header,
                       const std::vector<std::vector<std::string>>& rows, size_t left) {
  std::string text = "<div class='scroll' tabindex='0'><table>\n<caption>" + html_escaped(caption) +
                     "</caption>\n<thead><tr>";
  for (size_t i = 0; i < header.size(); ++i) {
    text +=
        fmt::format("<th scope='col'{}>{}</th>", i < left ? " class='left'" : "", html_escaped(header[i]));
  }
  text += "</tr></thead>\n<tbody>\n";
  for (const auto& row : rows) {
    text += "<tr>";
    for (size_t i = 0; i < row.size(); ++i) {
      const char* const tag = i == 0 ? "th scope='row'" : "td";
      text += fmt::format("<{}{}>{}</{}>", tag, i < left ? " class='left'" : "", html_escaped(row[i]),
                          i == 0 ? "th" : "td");
    }
    text += "</tr>\n";
  }
  return text + "</tbody></table></div>\n";
}

std::string legend(const std::vector<std::string>& names) {
  std::string text = "<ul class='legend'>";
  for (size_t i = 0; i < names.size(); ++i) {
    text += fmt::format("<li>{}{}</li>", legend_swatch(i), html_escaped(names[i]));
  }
  return text + "</ul>\n";
}

std::string summary_section(std::span<const Report> reports) {
  const std::vector<std::string> names = column_names(reports);
  std::string tables;
  for (size_t i = 0; i < reports.size(); ++i) tables += report_tables(reports[i], names[i]);
  if (tables.empty()) return "";
  return "<section id='summary'><h2>Generation benchmark</h2>\n"
         "<p>End-to-end time is that of the request, sampling and detokenization included. Decode counts the "
         "tokens after the first: by the time from token to token; by the forward passes alone; and as the "
         "seed counts, all tokens by the time of the passes.</p>\n" +
         tables +
         "<p class='muted'>Shares of ceilings: the shortest time that the measured peaks allow over the "
         "measured time. *: the other ceiling was not measured.</p></section>\n";
}

}  // namespace inferno::bench
