// A Markdown table whose source is aligned as well, so that it reads the same in a terminal.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace inferno::bench {

class MarkdownTable {
 public:
  enum class Align { kLeft, kRight };
  struct Column {
    std::string title;
    Align align = Align::kRight;
  };

  explicit MarkdownTable(std::vector<Column> columns) : columns_(std::move(columns)) {}
  // CHECKs that there is a cell for each column. Pipes and what escaped() escapes are escaped in cells.
  void add_row(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }
  // Every line ends with a newline.
  std::string text() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// "12.3"; "—" when there is no value or it is not finite.
std::string fixed(std::optional<double> value, int digits);
// "12.3", "0.123": small models take less than the tenths that large ones are told apart by.
std::string milliseconds(std::optional<double> value);

}  // namespace inferno::bench
