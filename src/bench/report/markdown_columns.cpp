#include "bench/report/markdown_columns.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "bench/report/markdown.h"
#include "bench/report/markdown_table.h"

namespace inferno::bench {

std::optional<size_t> Column::find(std::string_view key) const {
  const auto& results = report->results;
  const auto found = std::find_if(results.begin(), results.end(),
                                  [&](const ConfigResult& result) { return result.config.key == key; });
  if (found == results.end()) return std::nullopt;
  return static_cast<size_t>(found - results.begin());
}

std::vector<Column> columns_of(std::span<const Report> reports) {
  const std::vector<std::string> names = column_names(reports);
  std::vector<Column> columns;
  for (size_t i = 0; i < reports.size(); ++i) {
    Column column{&reports[i], names[i], {}};
    for (const ConfigResult& result : reports[i].results) {
      column.figures.push_back(figures(result, reports[i].setting));
    }
    columns.push_back(std::move(column));
  }
  return columns;
}

std::vector<Config> all_configs(std::span<const Report> reports) {
  std::vector<Config> configs;
  for (const Report& report : reports) {
    for (const ConfigResult& result : report.results) {
      const auto same = [&](const Config& config) { return config.key == result.config.key; };
      if (std::none_of(configs.begin(), configs.end(), same)) configs.push_back(result.config);
    }
  }
  return configs;
}

Cell cell(std::string title, std::function<std::optional<double>(const Figures&)> value, int digits) {
  return {std::move(title), [value = std::move(value), digits](const Column& column, size_t i) {
            const auto& f = column.figures[i];
            return fixed(f ? value(*f) : std::nullopt, digits);
          }};
}

Cell cell_ms(std::string title, std::function<std::optional<double>(const Figures&)> value) {
  return {std::move(title), [value = std::move(value)](const Column& column, size_t i) {
            const auto& f = column.figures[i];
            return milliseconds(f ? value(*f) : std::nullopt);
          }};
}

std::string in_brackets(const std::optional<double>& pct) {
  return pct ? fmt::format(" ({})", fixed(*pct, 1)) : std::string();
}

std::string ceiling_cell(const std::optional<OfCeiling>& of) {
  if (!of) return "—";
  return fmt::format("{}{} {}{}", fixed(of->pct, 1), in_brackets(of->pct_of_typical), name(of->bound),
                     of->partial ? "*" : "");
}

std::string config_table(std::span<const Config> configs, std::span<const Column> columns,
                         const std::vector<Cell>& cells, HasRow has_row) {
  std::vector<MarkdownTable::Column> header = {{"Config", MarkdownTable::Align::kLeft}};
  const bool alone = columns.size() == 1;  // the title has its name
  for (const Column& column : columns) {
    for (const Cell& cell : cells) {
      const std::string name = alone && !cell.title.empty() ? "" : column.name;
      header.push_back(
          {fmt::format("{}{}{}", name, name.empty() || cell.title.empty() ? "" : " ", cell.title),
           MarkdownTable::Align::kRight});
    }
  }
  MarkdownTable table(std::move(header));
  for (const Config& config : configs) {
    if (has_row != nullptr && !has_row(config.key)) continue;
    std::vector<std::string> row = {config.key};
    for (const Column& column : columns) {
      const auto at = column.find(config.key);
      for (const Cell& cell : cells) row.push_back(at ? cell.text(column, *at) : "—");
    }
    table.add_row(std::move(row));
  }
  return table.text();
}

std::vector<std::string> column_names(std::span<const Report> reports) {
  using Part = std::string (*)(const Setting&);
  constexpr Part kParts[] = {
      [](const Setting& s) { return escaped(s.model); },
      [](const Setting& s) { return escaped(s.dtype); },
      [](const Setting& s) { return std::string(s.use_kv_cache ? "" : "no cache"); },
      [](const Setting& s) { return escaped(s.device.backend); },
      [](const Setting& s) { return fmt::format("{}t", s.device.threads); },
      [](const Setting& s) { return escaped(s.git_revision.substr(0, 9)); },
  };
  std::vector<std::string> names(reports.size());
  for (const Part part : kParts) {
    for (size_t i = 0; i < reports.size(); ++i) {
      const std::string word = part(reports[i].setting);
      if (!names[i].empty() && !word.empty()) names[i] += ' ';
      names[i] += word;
    }
    if (std::set(names.begin(), names.end()).size() == names.size()) return names;
  }
  for (size_t i = 0; i < names.size(); ++i) names[i] += fmt::format(" #{}", i + 1);
  return names;
}

}  // namespace inferno::bench
