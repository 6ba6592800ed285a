#include <algorithm>
#include <set>

#include "base/text.h"
#include "bench/report/markdown_columns.h"
#include "bench/report/markdown_table.h"

namespace inferno::bench {
namespace {

using Align = MarkdownTable::Align;

const Report* counterpart(const Report& report, std::span<const Report> previous) {
  const auto same = [&](const Report& other) {
    return other.setting.model == report.setting.model && other.setting.dtype == report.setting.dtype &&
           other.setting.use_kv_cache == report.setting.use_kv_cache;
  };
  const auto found = std::find_if(previous.begin(), previous.end(), same);
  return found == previous.end() ? nullptr : &*found;
}

// Of the headline configuration, or of the first that both reports have.
std::optional<std::string> headline(const Column& now, const Column& before) {
  const auto in_both = [&](const std::string& key) { return now.find(key) && before.find(key); };
  if (in_both("medium")) return "medium";
  for (const ConfigResult& result : now.report->results) {
    if (in_both(result.config.key)) return result.config.key;
  }
  return std::nullopt;
}

void add_speedup_row(MarkdownTable& table, const Column& column, const Report& previous) {
  const Column before = columns_of({&previous, 1}).front();
  const auto key = headline(column, before);
  if (!key) return;
  const auto& now = column.figures[*column.find(*key)];
  const auto& then = before.figures[*before.find(*key)];
  if (!now || !then || !now->step_ms || !then->step_ms) return;
  const double old_ms = then->step_ms->p50;
  const double ms = now->step_ms->p50;
  if (old_ms <= 0 || ms <= 0) return;
  table.add_row({fmt::format("{} ({})", column.name, *key), fixed(1e3 / old_ms, 1) + " tok/s",
                 fixed(1e3 / ms, 1) + " tok/s", fixed(old_ms / ms, 2) + "x",
                 fmt::format("{}ms → {}ms ({}%)", milliseconds(old_ms), milliseconds(ms),
                             fixed(100 * (1 - ms / old_ms), 0))});
}

}  // namespace

std::string speedup_table(std::span<const Column> columns, std::span<const Report> previous) {
  MarkdownTable table({{"Model", Align::kLeft},
                       {"Previous decode", Align::kRight},
                       {"Decode", Align::kRight},
                       {"Speedup", Align::kRight},
                       {"Step latency reduction", Align::kRight}});
  std::set<std::string> labels;
  for (const Column& column : columns) {
    const Report* before = counterpart(*column.report, previous);
    if (before == nullptr) continue;
    const Setting& setting = before->setting;
    labels.insert(escaped(setting.git_revision.empty() ? setting.timestamp : setting.git_revision));
    add_speedup_row(table, column, *before);
  }
  if (table.empty()) return "";
  return fmt::format(
             "\n### Speedup vs {}\n\nAll of it by the median decode step: tok/s is 1000 / its ms.\n\n",
             join(labels, ", ")) +
         table.text();
}

}  // namespace inferno::bench
