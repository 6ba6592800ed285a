#include <algorithm>
#include <array>

#include "bench/figures.h"
#include "bench/report/markdown.h"
#include "bench/report/page_sections.h"
#include "bench/report/svg_chart.h"

namespace inferno::bench {
namespace {

struct Roof {
  std::string arithmetic;
  double gops = 0;
};

struct Dot {
  Point at;       // flop/byte, GFLOP/s
  size_t series;  // 0 decode, 1 prefill
  std::string label, tooltip;
};

std::vector<Roof> roofs(const Setting& setting) {
  std::vector<Roof> roofs;
  for (const std::string_view arithmetic : arithmetics(setting.device, setting.dtype)) {
    const double gops = setting.ceilings.peak(arithmetic, setting.device.threads);
    if (gops > 0) roofs.push_back({std::string(arithmetic), gops});
  }
  std::sort(roofs.begin(), roofs.end(), [](const Roof& a, const Roof& b) { return a.gops > b.gops; });
  return roofs;
}

void add_dot(std::vector<Dot>& dots, const std::string& key, const char* phase, size_t series,
             const std::optional<PhaseFigures>& figures) {
  if (!figures || figures->flops_per_byte <= 0 || figures->gflop_per_s <= 0) return;
  std::string tooltip = fmt::format("{} {}: {:.3g} flop/byte, {:.4g} GFLOP/s, {:.3g} GB/s", key, phase,
                                    figures->flops_per_byte, figures->gflop_per_s, figures->gb_per_s);
  std::string label = fmt::format("{} {}", key, phase);
  if (figures->of_ceiling) {
    tooltip += fmt::format(", {:.1f} % of {}", figures->of_ceiling->pct, figures->of_ceiling->ceiling);
    label += fmt::format(" {:.3g} %", figures->of_ceiling->pct);
  }
  dots.push_back({{figures->flops_per_byte, figures->gflop_per_s}, series, label, tooltip});
}

std::vector<Dot> dots_of(const Report& report) {
  std::vector<Dot> dots;
  for (const ConfigResult& result : report.results) {
    const auto f = figures(result, report.setting);
    if (!f) continue;
    add_dot(dots, result.config.key, "decode", 0, f->decode);
    add_dot(dots, result.config.key, "prefill", 1, f->prefill);
  }
  return dots;
}

void add_roofs(SvgChart& chart, const Axis& x, const Axis& y, double read, const std::vector<Roof>& roofs) {
  const double top = roofs.empty() ? y.max : roofs.front().gops;
  const double left = std::max(x.min, y.min / read);
  const double right = std::min(x.max, top / read);
  chart.add_limit({left, read * left}, {right, read * right}, fmt::format("{:.1f} GB/s read", read), 0.5);
  double at = 0.75;
  for (const Roof& roof : roofs) {
    chart.add_limit({roof.gops / read, roof.gops}, {x.max, roof.gops},
                    fmt::format("{:.1f} G {}/s", roof.gops, roof.arithmetic), at);
    at = at > 0.5 ? 0.35 : 0.75;
  }
}

std::string roofline(const Report& report, const std::string& name) {
  const double read = limits(report.setting).read_gb_per_s.value_or(0);
  const std::vector<Dot> dots = dots_of(report);
  if (read <= 0 || dots.empty()) return "";
  const std::vector<Roof> over = roofs(report.setting);
  std::vector<double> xs;
  std::vector<double> ys;
  std::vector<std::pair<Point, std::string>> labels;
  std::string words;
  for (const Dot& dot : dots) {
    xs.push_back(dot.at.x);
    ys.push_back(dot.at.y);
    labels.emplace_back(dot.at, dot.label);
    words += " " + dot.tooltip + ".";
  }
  for (const Roof& roof : over) {
    // Past the ridge, so that the roof is seen as well.
    xs.insert(xs.end(), {roof.gops / read, 4 * roof.gops / read});
    ys.push_back(1.5 * roof.gops);
  }
  const Axis x = Axis::fit("arithmetic intensity (flop/byte)", xs, true);
  const Axis y = Axis::fit("speed (GFLOP/s)", ys, true);
  const double height = std::max(400.0, 80 + 15 * static_cast<double>(labels.size()));
  SvgChart chart("Roofline of " + name,
                 "Speed over arithmetic intensity, both logarithmic, under the measured ceilings." + words,
                 900, height, x, y);
  chart.set_right_margin(190);
  add_roofs(chart, x, y, read, over);
  chart.add_margin_labels(labels);
  for (const Dot& dot : dots) chart.add_marker(dot.at, dot.series, dot.tooltip);
  return fmt::format("<figure class='wide'><figcaption>{}</figcaption>{}</figure>\n", html_escaped(name),
                     chart.text());
}

}  // namespace

std::string roofline_section(std::span<const Report> reports) {
  const std::vector<std::string> names = column_names(reports);
  std::string charts;
  for (size_t i = 0; i < reports.size(); ++i) charts += roofline(reports[i], names[i]);
  if (charts.empty()) return "";
  return "<section id='roofline'><h2>Roofline</h2>\n"
         "<p>The least operations and bytes of each phase, counted by the backend, by its time; under what "
         "the machine was measured to do at best (Williams, Waterman and Patterson, 2009). Percentages are "
         "of the ceiling that binds.</p>\n" +
         legend({"decode", "prefill"}) + charts + "</section>\n";
}

}  // namespace inferno::bench
