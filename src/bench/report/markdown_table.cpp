#include "bench/report/markdown_table.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/text.h"

namespace inferno::bench {
namespace {

size_t display_width(std::string_view text) {
  return static_cast<size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string as_cell(std::string_view text) {
  std::string cell;
  for (const char c : escaped(text, text.size())) {
    if (c == '|') cell += '\\';
    cell += c;
  }
  return cell;
}

std::string padded(const std::string& text, size_t width, MarkdownTable::Align align) {
  const std::string padding(width - display_width(text), ' ');
  return align == MarkdownTable::Align::kLeft ? text + padding : padding + text;
}

}  // namespace

void MarkdownTable::add_row(std::vector<std::string> cells) {
  CHECK(cells.size() == columns_.size(), "{} cells for {} columns", cells.size(), columns_.size());
  std::transform(cells.begin(), cells.end(), cells.begin(), as_cell);
  rows_.push_back(std::move(cells));
}

std::string MarkdownTable::text() const {
  constexpr size_t kNarrowest = 3;  // "---" and "--:"
  std::vector<size_t> widths;
  std::vector<std::string> titles;
  for (const Column& column : columns_) {
    titles.push_back(as_cell(column.title));
    widths.push_back(std::max(kNarrowest, display_width(titles.back())));
  }
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i]));
  }
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string text = "|";
    for (size_t i = 0; i < cells.size(); ++i) {
      text += fmt::format(" {} |", padded(cells[i], widths[i], columns_[i].align));
    }
    return text + "\n";
  };
  std::string text = line(titles) + "|";
  for (size_t i = 0; i < columns_.size(); ++i) {
    text += columns_[i].align == Align::kLeft ? std::string(widths[i] + 2, '-') + "|"
                                              : std::string(widths[i] + 1, '-') + ":|";
  }
  text += "\n";
  for (const auto& row : rows_) text += line(row);
  return text;
}

std::string fixed(std::optional<double> value, int digits) {
  return value && std::isfinite(*value) ? fmt::format("{:.{}f}", *value, digits) : "—";
}

std::string milliseconds(std::optional<double> value) {
  return fixed(value, !value || *value >= 1 ? 1 : 3);
}

}  // namespace inferno::bench
