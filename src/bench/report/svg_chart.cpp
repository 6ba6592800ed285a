#include "bench/report/svg_chart.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace inferno::bench {
namespace {

// The least of 1, 2, 2.5, 5 and 10 times a power of ten that is at least `value`.
double round_up(double value) {
  const double power = std::pow(10, std::floor(std::log10(value)));
  for (const double step : {1.0, 2.0, 2.5, 5.0}) {
    if (step * power >= value * (1 - 1e-9)) return step * power;
  }
  return 10 * power;
}

// Of the values that can be shown; 1 and 1 without any.
std::pair<double, double> extremes(const std::vector<double>& values, bool log) {
  double least = std::numeric_limits<double>::infinity();
  double greatest = -least;
  for (const double value : values) {
    if (!std::isfinite(value) || (log && value <= 0)) continue;
    least = std::min(least, value);
    greatest = std::max(greatest, value);
  }
  return least <= greatest ? std::pair(least, greatest) : std::pair(1.0, 1.0);
}

void fit_linear(Axis& axis, double least, double greatest) {
  constexpr double kTicks = 5;
  // Values that are all but equal get an axis wide enough for its ticks to differ as doubles.
  const double narrowest = std::max(1e-9, 1e-6 * std::max(std::abs(least), std::abs(greatest)));
  const double step = round_up(std::max(greatest - least, narrowest) / kTicks);
  const double first = std::floor(least / step + 1e-9);
  const double last = std::max(std::ceil(greatest / step - 1e-9), first + 1);
  axis.min = first * step;
  axis.max = last * step;
  for (double i = first; i <= last; ++i) axis.ticks.push_back({step * i, short_number(step * i)});
}

void fit_log(Axis& axis, double least, double greatest) {
  const double first = std::floor(std::log10(least) + 1e-9);
  const double last = std::max(std::ceil(std::log10(greatest) - 1e-9), first + 1);
  axis.min = std::pow(10, first);
  axis.max = std::pow(10, last);
  constexpr double kMostLabels = 8;
  const double stride = std::ceil((last - first + 1) / kMostLabels);
  const bool between = last - first <= 2;  // few powers: 2 and 5 times them as well
  for (double power = first; power <= last; power += stride) {
    for (const double step : {1.0, 2.0, 5.0}) {
      const double value = step * std::pow(10, power);
      if (step > 1 && (!between || power == last)) continue;
      axis.ticks.push_back({value, short_number(value)});
    }
  }
}

constexpr double kCharacter = 8;  // the widest figure of a tick, in pixels

constexpr const char* kMarkers[SvgChart::kSeries] = {
    "<circle cx='{0:.1f}' cy='{1:.1f}' r='4'",
    "<path d='M{0:.1f} {1:.1f}m-4 -4h8v8h-8z'",
    "<path d='M{0:.1f} {1:.1f}m0 -5l5 9h-10z'",
    "<path d='M{0:.1f} {1:.1f}m0 -5.5l5.5 5.5l-5.5 5.5l-5.5 -5.5z'",
    "<path d='M{0:.1f} {1:.1f}m0 5l5 -9h-10z'",
    "<path d='M{0:.1f} {1:.1f}m-5 -1.5h3.5v-3.5h3v3.5h3.5v3h-3.5v3.5h-3v-3.5h-3.5z'",
};

std::string marker(double x, double y, size_t series) {
  const size_t style = series % SvgChart::kSeries;
  return fmt::format(fmt::runtime(kMarkers[style]), x, y) + fmt::format(" class='m s{}'", style);
}

}  // namespace

std::string html_escaped(std::string_view text) {
  std::string safe;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
    switch (c) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      case '\'':
        safe += "&#39;";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
          safe += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        } else if (c == '\xc2' && next >= 0x80 && next <= 0x9f) {  // U+0080 to U+009F
          safe += fmt::format("\\u{{{:x}}}", next);
          ++i;
        } else {
          safe += c;
        }
    }
  }
  return safe;
}

std::string short_number(double value) {
  const double size = std::abs(value);
  if (size >= 1e15 || (size > 0 && size < 1e-4)) return fmt::format("{:.0e}", value);
  for (const auto& [unit, suffix] : {std::pair{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e4, "k"}}) {
    if (size >= unit)
      return fmt::format("{:.3g}{}", value / std::min(unit, unit == 1e4 ? 1e3 : unit), suffix);
  }
  return size >= 1000 ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}", value);
}

Axis Axis::fit(std::string label, const std::vector<double>& values, bool log) {
  Axis axis{.label = std::move(label), .log = log, .min = 0, .max = 1, .ticks = {}};
  const auto [least, greatest] = extremes(values, log);
  if (log) {
    fit_log(axis, least, greatest);
  } else {
    fit_linear(axis, std::min(least, 0.0), greatest);
  }
  return axis;
}

Axis Axis::span(std::string label, const std::vector<double>& values) {
  Axis axis{.label = std::move(label), .log = false, .min = 0, .max = 1, .ticks = {}};
  const auto [least, greatest] = extremes(values, false);
  fit_linear(axis, least, greatest);
  return axis;
}

double Axis::at(double value) const {
  if (!log) return (value - min) / (max - min);
  return (std::log10(std::max(value, 1e-300)) - std::log10(min)) / (std::log10(max) - std::log10(min));
}

SvgChart::SvgChart(std::string title, std::string description, double width, double height, Axis x, Axis y)
    : title_(std::move(title)),
      description_(std::move(description)),
      width_(width),
      height_(height),
      x_(std::move(x)),
      y_(std::move(y)) {}

double SvgChart::px(double x) const {
  return left_ + std::clamp(x_.at(x), -0.02, 1.02) * (width_ - left_ - right_);
}

double SvgChart::py(double y) const {
  return height_ - bottom_ - std::clamp(y_.at(y), -0.02, 1.02) * (height_ - top_ - bottom_);
}

std::string SvgChart::path(const std::vector<Point>& points) const {
  std::string path;
  for (const Point& point : points) {
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", px(point.x), py(point.y));
  }
  return path;
}

void SvgChart::add_line(const std::vector<Point>& points, size_t series) {
  content_ += fmt::format("<path class='line s{}' d='{}'/>\n", series % kSeries, path(points));
}

void SvgChart::add_band(const std::vector<Point>& low, const std::vector<Point>& high, size_t series) {
  std::vector<Point> outline = high;
  outline.insert(outline.end(), low.rbegin(), low.rend());
  content_ += fmt::format("<path class='band s{}' d='{}Z'/>\n", series % kSeries, path(outline));
}

void SvgChart::add_marker(Point point, size_t series, std::string_view tooltip) {
  content_ += marker(px(point.x), py(point.y), series) +
              fmt::format("><title>{}</title></{}>\n", html_escaped(tooltip),
                          series % kSeries == 0 ? "circle" : "path");
}

void SvgChart::add_limit(Point from, Point to, std::string_view label, double at) {
  const double x1 = px(from.x), y1 = py(from.y), x2 = px(to.x), y2 = py(to.y);
  content_ += fmt::format("<path class='limit' d='M{:.1f} {:.1f}L{:.1f} {:.1f}'/>\n", x1, y1, x2, y2);
  const double degrees = std::atan2(y2 - y1, x2 - x1) * 180 / 3.14159265358979;
  content_ += fmt::format(
      "<text class='limit-label' text-anchor='middle' transform='translate({:.1f} {:.1f}) "
      "rotate({:.1f})'>{}</text>\n",
      x1 + at * (x2 - x1), y1 + at * (y2 - y1) - 6, degrees, html_escaped(label));
}

void SvgChart::add_margin_labels(std::vector<std::pair<Point, std::string>> labels) {
  constexpr double kLine = 15;
  std::stable_sort(labels.begin(), labels.end(),
                   [](const auto& a, const auto& b) { return a.first.y > b.first.y; });
  // Each at its point's height or right below the one above; then pushed up from the bottom.
  std::vector<double> heights;
  for (const auto& [point, label] : labels) {
    const double own = py(point.y);
    heights.push_back(heights.empty() ? std::max(own, top_ + 4) : std::max(own, heights.back() + kLine));
  }
  double lowest = height_ - bottom_;
  for (size_t i = heights.size(); i-- > 0; lowest = heights[i] - kLine) {
    heights[i] = std::min(heights[i], lowest);
  }
  const double edge = width_ - right_;
  for (size_t i = 0; i < labels.size(); ++i) {
    const auto& [point, label] = labels[i];
    content_ += fmt::format("<path class='leader' d='M{:.1f} {:.1f}L{:.1f} {:.1f}'/>", px(point.x) + 6,
                            py(point.y), edge + 10, heights[i]);
    content_ += fmt::format("<text class='label' x='{:.1f}' y='{:.1f}'>{}</text>\n", edge + 14,
                            heights[i] + 4, html_escaped(label));
  }
}

std::string SvgChart::axes() const {
  const double bottom = height_ - bottom_;
  const double right = width_ - right_;
  std::string text;
  for (const Tick& tick : y_.ticks) {
    text += fmt::format("<path class='grid' d='M{:.1f} {:.1f}H{:.1f}'/>", left_, py(tick.value), right);
    text += fmt::format("<text class='tick' text-anchor='end' x='{:.1f}' y='{:.1f}'>{}</text>\n", left_ - 7,
                        py(tick.value) + 4, html_escaped(tick.label));
  }
  for (const Tick& tick : x_.ticks) {
    const double x = px(tick.value);
    const double half = kCharacter / 2 * static_cast<double>(tick.label.size());
    const bool fits = x + half < width_;  // else it ends with the chart
    text += fmt::format("<path class='grid' d='M{:.1f} {:.1f}V{:.1f}'/>", x, top_, bottom + 4);
    text +=
        fmt::format("<text class='tick' text-anchor='{}' x='{:.1f}' y='{:.1f}'>{}</text>\n",
                    fits ? "middle" : "end", fits ? x : width_ - 1, bottom + 18, html_escaped(tick.label));
  }
  text += fmt::format("<path class='axis' d='M{:.1f} {:.1f}V{:.1f}H{:.1f}'/>\n", left_, top_, bottom, right);
  text += fmt::format("<text class='axis-label' text-anchor='middle' x='{:.1f}' y='{:.1f}'>{}</text>\n",
                      (left_ + right) / 2, height_ - 8, html_escaped(x_.label));
  text += fmt::format(
      "<text class='axis-label' text-anchor='middle' transform='translate(14 {:.1f}) "
      "rotate(-90)'>{}</text>\n",
      (top_ + bottom) / 2, html_escaped(y_.label));
  return text;
}

std::string SvgChart::text() const {
  return fmt::format(
             "<svg class='chart' role='img' viewBox='0 0 {0:.0f} {1:.0f}' width='{0:.0f}' height='{1:.0f}'>"
             "\n<title>{2}</title><desc>{3}</desc>\n",
             width_, height_, html_escaped(title_), html_escaped(description_)) +
         axes() + content_ + "</svg>\n";
}

std::string legend_swatch(size_t series) {
  return fmt::format(
             "<svg class='swatch' width='34' height='14' viewBox='0 0 34 14' aria-hidden='true'>"
             "<path class='line s{}' d='M1 7H33'/>",
             series % SvgChart::kSeries) +
         marker(17, 7, series) + "/></svg>";
}

}  // namespace inferno::bench
