// Columns of the Markdown tables: a report each, with a row for each configuration.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/figures.h"

namespace inferno::bench {

// One report's results with what follows from them.
struct Column {
  const Report* report;
  std::string name;
  std::vector<std::optional<Figures>> figures;  // of each result

  // The place of a configuration among the results.
  std::optional<size_t> find(std::string_view key) const;
};
std::vector<Column> columns_of(std::span<const Report> reports);

// Configurations of all reports, in order of first appearance.
std::vector<Config> all_configs(std::span<const Report> reports);

// A value of one configuration in one report; "—" where it did not run.
struct Cell {
  std::string title;  // "P50", or "": after the report's name where there are several
  std::function<std::string(const Column&, size_t)> text;
};
Cell cell(std::string title, std::function<std::optional<double>(const Figures&)> value, int digits);
Cell cell_ms(std::string title, std::function<std::optional<double>(const Figures&)> value);

// "84.0 (88.1) memory"; an asterisk where the other ceiling was not measured; "—" without.
std::string ceiling_cell(const std::optional<OfCeiling>& of);
// " (88.1)" or nothing.
std::string in_brackets(const std::optional<double>& pct);

using HasRow = bool (*)(std::string_view key);
// Each cell of each column, in the rows that `has_row` keeps.
std::string config_table(std::span<const Config> configs, std::span<const Column> columns,
                         const std::vector<Cell>& cells, HasRow has_row = nullptr);

// A row for each column that has an earlier report of the same model, weights and cache; "" without any.
std::string speedup_table(std::span<const Column> columns, std::span<const Report> previous);

}  // namespace inferno::bench
