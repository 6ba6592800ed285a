// An XY chart as an SVG element: axes with ticks and units, lines, bands, points. It colours by CSS class
// ("s0" … "s5"), so that the page decides on light or dark; series differ in dash and marker as well.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace inferno::bench {

// For HTML and SVG text and attribute values; control characters become visible.
std::string html_escaped(std::string_view text);

struct Point {
  double x = 0, y = 0;
};

struct Tick {
  double value = 0;
  std::string label;
};

struct Axis {
  std::string label;  // with its unit
  bool log = false;
  double min = 0, max = 1;  // of what is shown; for log above 0
  std::vector<Tick> ticks;

  // From 0 (linear), or from the power of ten below the least value (log), to a round number not below the
  // greatest. Values that are not finite, or not positive on a log axis, do not count.
  static Axis fit(std::string label, const std::vector<double>& values, bool log);
  // Linear, from a round number not above the least value to one not below the greatest.
  static Axis span(std::string label, const std::vector<double>& values);
  // 0 at min, 1 at max; outside of that beyond the ends.
  double at(double value) const;
};

// "1.2k", "0.05", "3": few digits, for ticks and short labels.
std::string short_number(double value);

class SvgChart {
 public:
  // `title` is read out and shown as a tooltip; `description` says in words what is to be seen.
  SvgChart(std::string title, std::string description, double width, double height, Axis x, Axis y);

  // Keeps this many pixels right of the plot for labels.
  void set_right_margin(double pixels) { right_ = pixels; }

  // series: which colour, dash and marker; drawn in order.
  void add_line(const std::vector<Point>& points, size_t series);
  void add_band(const std::vector<Point>& low, const std::vector<Point>& high, size_t series);
  void add_marker(Point point, size_t series, std::string_view tooltip);
  // A ceiling: a line of its own style with its label along it, `at` this share of its length.
  void add_limit(Point from, Point to, std::string_view label, double at);
  // Labels in the right margin with lines to their points, moved apart so that none covers another.
  void add_margin_labels(std::vector<std::pair<Point, std::string>> labels);

  std::string text() const;

  static constexpr size_t kSeries = 6;  // distinct styles; more repeat

 private:
  double px(double x) const;
  double py(double y) const;
  std::string axes() const;
  std::string path(const std::vector<Point>& points) const;

  std::string title_, description_;
  double width_, height_;
  double left_ = 62, right_ = 16, top_ = 12, bottom_ = 44;
  Axis x_, y_;
  std::string content_;
};

// A swatch of a series' line and marker for legends.
std::string legend_swatch(size_t series);

}  // namespace inferno::bench
