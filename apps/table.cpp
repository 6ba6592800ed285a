#include "apps/table.h"

#include <algorithm>
#include <sstream>

#include "base/check.h"

namespace inferno::apps {

size_t display_width(std::string_view text) {
  return static_cast<size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string shortened(std::string_view text, size_t width) {
  if (display_width(text) <= width) return std::string(text);
  size_t end = 0;
  for (size_t columns = 0; end < text.size(); ++end) {
    const bool begins = (static_cast<unsigned char>(text[end]) & 0xc0) != 0x80;
    if (begins && ++columns >= width) break;
  }
  return std::string(text.substr(0, end)) + "…";
}

std::vector<std::string> wrapped(const std::string& text, size_t width) {
  std::vector<std::string> lines(1);
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    std::string& line = lines.back();
    if (!line.empty() && display_width(line) + 1 + display_width(word) > width) {
      lines.push_back(word);
    } else {
      line += (line.empty() ? "" : " ") + word;
    }
  }
  return lines;
}

std::string padded(std::string_view text, size_t width, Align align) {
  const size_t own = display_width(text);
  const std::string padding(width > own ? width - own : 0, ' ');
  return align == Align::kLeft ? std::string(text) + padding : padding + std::string(text);
}

void Table::add_row(std::vector<std::string> cells) {
  CHECK(cells.size() == columns_.size(), "{} cells for {} columns", cells.size(), columns_.size());
  rows_.push_back(std::move(cells));
}

std::vector<std::string> Table::lines() const {
  std::vector<size_t> widths(columns_.size(), 0);
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i]));
  }
  std::vector<std::string> lines;
  lines.reserve(rows_.size());
  for (const auto& row : rows_) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      line += "  ";
      const bool bare = columns_[i] == Align::kLeft && i + 1 == row.size();
      line += bare ? row[i] : padded(row[i], widths[i], columns_[i]);
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string group_digits(uint64_t number) {
  std::string digits = std::to_string(number);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<size_t>(at), 1, ',');
  }
  return digits;
}

}  // namespace inferno::apps
