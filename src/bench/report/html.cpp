#include "bench/report/html.h"

#include "bench/report/page_sections.h"
#include "bench/report/svg_chart.h"

namespace inferno::bench {
namespace {

// Colours after Okabe and Ito's palette, which is told apart with the common forms of colour blindness.
constexpr const char* kStyle = R"(
:root { color-scheme: light dark; --page: #fdfdfb; --ink: #1c2126; --muted: #59636e; --grid: #e3e6e8;
  --rule: #b9c0c6; --stripe: #f3f5f5; --limit: #9a3412;
  --s0: #0067a5; --s1: #c24a00; --s2: #00795a; --s3: #a8477f; --s4: #7a6200; --s5: #4a4f55; }
@media (prefers-color-scheme: dark) { :root { --page: #14181c; --ink: #e6e9ec; --muted: #9aa5b1;
  --grid: #2a3138; --rule: #4a545e; --stripe: #1b2126; --limit: #f59e6b;
  --s0: #63b8f0; --s1: #f0a13a; --s2: #3ccfa3; --s3: #e79ac4; --s4: #e8dc4e; --s5: #c2c8ce; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 24px 28px 64px; max-width: 1400px; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; }
h1 { font-size: 26px; margin: 0 0 4px; } h2 { font-size: 20px; margin: 40px 0 8px; }
h3 { font-size: 16px; margin: 24px 0 2px; } p { max-width: 90ch; margin: 4px 0 12px; }
.muted { color: var(--muted); }
nav a { color: var(--s0); margin-right: 18px; }
.scroll { overflow-x: auto; margin: 8px 0 20px; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 14px; }
caption { text-align: left; color: var(--muted); padding: 0 0 6px; }
th, td { padding: 4px 10px; text-align: right; white-space: nowrap; font-weight: normal; vertical-align: middle; }
th:first-child, td:first-child { padding-left: 4px; }
thead th { border-bottom: 1px solid var(--rule); font-weight: 600; vertical-align: bottom; }
thead th { white-space: normal; max-width: 14ch; }
tbody tr:nth-child(even) { background: var(--stripe); }
tbody th { font-weight: 600; } .left { text-align: left; }
td[colspan] { white-space: normal; max-width: 70ch; }
.panels { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(400px, 100%), 1fr)); gap: 16px 20px; }
figure { margin: 0; min-width: 0; } figure.wide { margin: 8px 0 20px; }
figcaption { font-weight: 600; }
svg.chart { max-width: 100%; height: auto; display: block; }
svg text { font: 12px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: var(--ink); }
svg .tick { fill: var(--muted); font-variant-numeric: tabular-nums; } svg .axis-label { fill: var(--muted); }
svg .label { font-size: 11.5px; } svg .limit-label { fill: var(--limit); font-size: 11.5px; }
.grid { stroke: var(--grid); } .axis { stroke: var(--rule); fill: none; }
.leader { stroke: var(--rule); fill: none; stroke-width: .8; }
.line { fill: none; stroke-width: 1.8; stroke-linejoin: round; }
.limit { fill: none; stroke: var(--limit); stroke-width: 1.5; }
.band { stroke: none; opacity: .18; } .m { stroke: var(--page); stroke-width: 1; }
.s0 { --c: var(--s0); } .s1 { --c: var(--s1); } .s2 { --c: var(--s2); }
.s3 { --c: var(--s3); } .s4 { --c: var(--s4); } .s5 { --c: var(--s5); }
.line.s1 { stroke-dasharray: 7 3; } .line.s2 { stroke-dasharray: 2 3; } .line.s3 { stroke-dasharray: 9 3 2 3; }
.line.s4 { stroke-dasharray: 14 4; } .line.s5 { stroke-dasharray: 1 4; }
.line { stroke: var(--c); } .band, .m, .bar rect { fill: var(--c); }
.legend { list-style: none; margin: 8px 0; padding: 0; display: flex; flex-wrap: wrap; gap: 4px 22px; }
.legend li { display: flex; align-items: center; gap: 8px; } .swatch { flex: none; }
@media (max-width: 1000px) { table { font-size: 13px; } th, td { padding: 4px 7px; } }
@media print { body { max-width: none; } .scroll { overflow: visible; } }
)";

struct Section {
  const char* id;
  const char* title;
  std::string text;
};

std::string navigation(const std::vector<Section>& sections) {
  std::string text = "<nav aria-label='Sections'>";
  for (const Section& section : sections) {
    if (section.text.empty()) continue;
    text += fmt::format("<a href='#{}'>{}</a>", section.id, section.title);
  }
  return text + "</nav>\n";
}

std::string warnings(const std::vector<std::string>& warnings) {
  if (warnings.empty()) return "";
  std::string text = "<section id='warnings'><h2>Left out</h2><ul>\n";
  for (const std::string& warning : warnings) text += "<li>" + html_escaped(warning) + "</li>\n";
  return text + "</ul></section>\n";
}

}  // namespace

std::string html(const Page& page) {
  const std::vector<Section> sections = {
      {"summary", "Generation benchmark", summary_section(page.reports)},
      {"ladder", "Ladder", ladder_section(page.ladders)},
      {"steps", "Latency of each step", steps_section(page.reports)},
      {"roofline", "Roofline", roofline_section(page.reports)},
      {"history", "History", history_section(page.history)},
      {"warnings", "Left out", warnings(page.warnings)},
  };
  std::string text =
      "<!DOCTYPE html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'>\n"
      "<meta name='viewport' content='width=device-width, initial-scale=1'>\n"
      "<title>inferno: benchmark report</title>\n<link rel='icon' href='data:,'>\n<style>" +
      std::string(kStyle) + "</style>\n</head>\n<body>\n<h1>inferno: benchmark report</h1>\n" +
      navigation(sections) + "<main>\n";
  for (const Section& section : sections) text += section.text;
  return text + "</main>\n</body>\n</html>\n";
}

}  // namespace inferno::bench
