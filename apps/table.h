// Aligned columns for terminals.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace inferno::apps {

enum class Align { kLeft, kRight };

class Table {
 public:
  explicit Table(std::vector<Align> columns) : columns_(std::move(columns)) {}

  void add_row(std::vector<std::string> cells);
  // Every row indented by two spaces, columns as wide as their widest cell. The last column is not padded.
  std::vector<std::string> lines() const;

 private:
  std::vector<Align> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// Columns that the text takes on a terminal, each character as one; and the text with spaces up to `width` of
// them.
size_t display_width(std::string_view text);
// Words in lines of at most `width` columns, or of one word that is wider.
std::vector<std::string> wrapped(const std::string& text, size_t width);
// As much of the text as fits, "…" in place of the rest.
std::string shortened(std::string_view text, size_t width);
std::string padded(std::string_view text, size_t width, Align align);

// "1,234,567"
std::string group_digits(uint64_t number);

}  // namespace inferno::apps
