#include <algorithm>

#include "bench/report/markdown.h"
#include "bench/report/page_sections.h"
#include "bench/report/svg_chart.h"
#include "metrics/stats.h"

namespace inferno::bench {
namespace {

// Steps of all trials, a few positions at a time.
struct Curve {
  std::vector<Point> median, low, high;  // milliseconds over tokens in the sequence
};

Curve curve(const ConfigResult& result) {
  constexpr size_t kMostPoints = 96;
  size_t n_steps = 0;
  for (const Trial& trial : result.trials) n_steps = std::max(n_steps, trial.steps.size());
  const size_t width = (n_steps + kMostPoints - 1) / kMostPoints;
  Curve curve;
  for (size_t begin = 0; begin < n_steps; begin += width) {
    std::vector<double> sample;
    for (const Trial& trial : result.trials) {
      for (size_t i = begin; i < std::min(begin + width, trial.steps.size()); ++i) {
        sample.push_back(std::chrono::duration<double, std::milli>(trial.steps[i]).count());
      }
    }
    const auto summary = metrics::summarize(sample);
    if (!summary) continue;
    const double middle = static_cast<double>(begin) + static_cast<double>(width - 1) / 2;
    const double position = static_cast<double>(result.prompt_tokens) + 1 + middle;
    curve.median.push_back({position, summary->p50});
    curve.low.push_back({position, summary->p25});
    curve.high.push_back({position, summary->p75});
  }
  return curve;
}

const ConfigResult* find(const Report& report, const std::string& key) {
  const auto found = std::find_if(report.results.begin(), report.results.end(),
                                  [&](const ConfigResult& result) { return result.config.key == key; });
  return found == report.results.end() ? nullptr : &*found;
}

std::string panel(std::span<const Report> reports, const std::vector<std::string>& names,
                  const std::string& key) {
  std::vector<std::pair<size_t, Curve>> curves;
  std::vector<double> xs;
  std::vector<double> ys;
  std::string words;
  for (size_t i = 0; i < reports.size(); ++i) {
    const ConfigResult* result = find(reports[i], key);
    if (result == nullptr) continue;
    Curve drawn = curve(*result);
    if (drawn.median.empty()) continue;
    for (const Point& point : drawn.high) {
      xs.push_back(point.x);
      ys.push_back(point.y);
    }
    words +=
        fmt::format(" {}: {:.3g} ms at {:.0f} tokens, {:.3g} ms at {:.0f}.", names[i], drawn.median.front().y,
                    drawn.median.front().x, drawn.median.back().y, drawn.median.back().x);
    curves.emplace_back(i, std::move(drawn));
  }
  if (curves.empty()) return "";
  SvgChart chart("Step latency of " + key, "Median step latency over the position in the sequence." + words,
                 440, 260, Axis::span("tokens in the sequence", xs), Axis::fit("step (ms)", ys, false));
  for (const auto& [series, drawn] : curves) {
    chart.add_band(drawn.low, drawn.high, series);
    chart.add_line(drawn.median, series);
    chart.add_marker(drawn.median.back(), series, names[series]);
  }
  return fmt::format("<figure><figcaption>{}</figcaption>{}</figure>\n", html_escaped(key), chart.text());
}

}  // namespace

std::string steps_section(std::span<const Report> reports) {
  const std::vector<std::string> names = column_names(reports);
  std::vector<std::string> keys;
  for (const Report& report : reports) {
    for (const ConfigResult& result : report.results) {
      if (std::find(keys.begin(), keys.end(), result.config.key) == keys.end()) {
        keys.push_back(result.config.key);
      }
    }
  }
  std::string panels;
  for (const std::string& key : keys) panels += panel(reports, names, key);
  if (panels.empty()) return "";
  return "<section id='steps'><h2>Latency of each step</h2>\n"
         "<p>From one token leaving the sampler to the next. Lines are medians over trials and neighbouring "
         "steps, bands their quartiles. A flat line is a cache that works.</p>\n" +
         legend(names) + "<div class='panels'>\n" + panels + "</div></section>\n";
}

}  // namespace inferno::bench
