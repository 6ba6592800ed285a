#include "apps/fitted_tables.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "apps/table.h"

namespace inferno::apps {
namespace {

using Cells = std::vector<std::string>;

bool is_row(std::string_view line) {
  return line.starts_with("| ") || line.starts_with("|-");
}

// What stands between the bars; one after a backslash is a cell's own.
Cells cells_of(std::string_view line) {
  Cells cells;
  std::string cell;
  for (size_t i = 1; i < line.size(); ++i) {
    if (line[i] == '|' && line[i - 1] != '\\') {
      cell.erase(0, std::min(cell.find_first_not_of(' '), cell.size()));
      cell.erase(cell.find_last_not_of(' ') + 1);
      cells.push_back(std::move(cell));
      cell.clear();
    } else {
      cell += line[i];
    }
  }
  return cells;
}

size_t longest_word(const std::string& cell) {
  size_t longest = 0;
  for (const std::string& word : wrapped(cell, 1)) longest = std::max(longest, display_width(word));
  return longest;
}

// Titles, the line below them, rows.
class FittedTable {
 public:
  explicit FittedTable(const std::vector<std::string_view>& lines) {
    for (const std::string_view line : lines) rows_.push_back(cells_of(line));
    const size_t n = rows_.front().size();
    const auto widest = [&](size_t column, auto width_of) {
      size_t width = 0;
      for (size_t i = 0; i < rows_.size(); ++i)
        if (i != kRule) width = std::max(width, width_of(rows_[i][column]));
      return width;
    };
    for (size_t i = 0; i < n; ++i) {
      aligns_.push_back(rows_[kRule][i].ends_with(':') ? Align::kRight : Align::kLeft);
      widths_.push_back(widest(i, [](const std::string& cell) { return display_width(cell); }));
      least_.push_back(widest(i, longest_word));
    }
  }

  std::string text(size_t columns) {
    while (width() > columns && narrow_widest()) {
    }
    std::string text;
    for (size_t i = 0; i < rows_.size(); ++i) text += i == kRule ? rule() : row(rows_[i]);
    return text;
  }

 private:
  static constexpr size_t kRule = 1;

  size_t width() const {
    return std::accumulate(widths_.begin(), widths_.end(), size_t{1}) + 3 * widths_.size();
  }

  // Of those that can be narrower; false when none can.
  bool narrow_widest() {
    size_t* widest = nullptr;
    for (size_t i = 0; i < widths_.size(); ++i) {
      if (widths_[i] > least_[i] && (widest == nullptr || widths_[i] > *widest)) widest = &widths_[i];
    }
    if (widest != nullptr) --*widest;
    return widest != nullptr;
  }

  std::string rule() const {
    std::string text = "|";
    for (size_t i = 0; i < widths_.size(); ++i)
      text += std::string(widths_[i] + 1, '-') + (aligns_[i] == Align::kRight ? ":|" : "-|");
    return text + "\n";
  }

  std::string row(const Cells& cells) const {
    std::vector<Cells> parts;
    size_t n_lines = 1;
    for (size_t i = 0; i < cells.size(); ++i) {
      parts.push_back(wrapped(cells[i], widths_[i]));
      n_lines = std::max(n_lines, parts.back().size());
    }
    std::string text;
    for (size_t line = 0; line < n_lines; ++line) {
      text += "|";
      for (size_t i = 0; i < cells.size(); ++i) {
        const std::string part = line < parts[i].size() ? parts[i][line] : "";
        text += " " + padded(part, widths_[i], aligns_[i]) + " |";
      }
      text += "\n";
    }
    return text;
  }

  std::vector<Cells> rows_;
  std::vector<Align> aligns_;
  std::vector<size_t> widths_, least_;
};

std::string fitted(const std::vector<std::string_view>& lines, size_t columns) {
  const bool fits = lines.size() < 2 || std::all_of(lines.begin(), lines.end(), [&](std::string_view line) {
                      return display_width(line) <= columns;
                    });
  if (!fits) return FittedTable(lines).text(columns);
  std::string text;
  for (const std::string_view line : lines) text += std::string(line) + "\n";
  return text;
}

}  // namespace

std::string fitted_tables(std::string_view markdown, std::optional<size_t> columns) {
  if (!columns) return std::string(markdown);
  std::string text;
  std::vector<std::string_view> table;
  const auto end_table = [&] {
    if (!table.empty()) text += fitted(table, *columns);
    table.clear();
  };
  for (size_t begin = 0; begin < markdown.size();) {
    const size_t end = std::min(markdown.find('\n', begin), markdown.size());
    const std::string_view line = markdown.substr(begin, end - begin);
    begin = end + 1;
    if (is_row(line)) {
      table.push_back(line);
      continue;
    }
    end_table();
    text += std::string(line) + "\n";
  }
  end_table();
  return text;
}

}  // namespace inferno::apps
