#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "bench/report/markdown_table.h"
#include "bench/report/page_sections.h"
#include "bench/report/svg_chart.h"

namespace inferno::bench {
namespace {

struct Run {
  const LogEntry* entry;
  const LogEntry::Config* config;
  size_t series;
};

std::string day(const LogEntry& entry) {
  return entry.timestamp.substr(0, 10);
}

// "2026-01-31T12:00:00Z" without the characters before `begin` and from `end` on.
std::string part(const Run& run, size_t begin, size_t end) {
  const std::string& time = run.entry->timestamp;
  return time.size() < end ? time : time.substr(begin, end - begin);
}

// How to tell the runs apart in few characters: by day, else by the time of the one day, else by both.
void name_ticks(Axis& axis, const std::vector<Run>& runs, size_t stride) {
  const auto name = [&](const auto& label) {
    axis.ticks.clear();
    std::set<std::string> labels;
    for (size_t i = 0; i < runs.size(); i += stride) {
      axis.ticks.push_back({static_cast<double>(i), label(runs[i])});
      labels.insert(axis.ticks.back().label);
    }
    return labels.size() == axis.ticks.size();
  };
  if (name([](const Run& run) { return part(run, 0, 10); })) return;
  if (day(*runs.front().entry) == day(*runs.back().entry)) {
    axis.label = fmt::format("runs of {} (UTC) in order of time", day(*runs.front().entry));
    if (!name([](const Run& run) { return part(run, 11, 16); })) {
      name([](const Run& run) { return part(run, 11, 19); });
    }
    return;
  }
  axis.label += " (UTC)";
  name([](const Run& run) { return part(run, 5, 10) + " " + part(run, 11, 16); });
}

// At most four of the runs are named on the axis.
Axis run_axis(const std::vector<Run>& runs) {
  constexpr size_t kTicks = 4;
  Axis axis{.label = "runs in order of time", .log = false, .min = 0, .max = 0, .ticks = {}};
  axis.max = std::max(static_cast<double>(runs.size()) - 1, 1.0);
  name_ticks(axis, runs, (runs.size() + kTicks - 1) / kTicks);
  return axis;
}

std::string panel(const std::string& key, const std::vector<Run>& runs,
                  const std::vector<std::string>& names) {
  std::vector<double> ys;
  // Runs of other lengths, such as cut ones, measured something else and stand on lines of their own.
  std::map<std::tuple<size_t, int64_t, int64_t>, std::vector<Point>> lines;
  for (size_t i = 0; i < runs.size(); ++i) {
    const double tps = *runs[i].config->decode_tps;
    ys.push_back(tps);
    const LogEntry::Config& config = *runs[i].config;
    lines[{runs[i].series, config.prompt_tokens, config.generated_tokens}].push_back(
        {static_cast<double>(i), tps});
  }
  SvgChart chart("History of " + key,
                 fmt::format("Decode speed of {} runs, from {} to {}.", runs.size(), day(*runs.front().entry),
                             day(*runs.back().entry)),
                 440, 260, run_axis(runs), Axis::fit("decode (tok/s)", ys, false));
  for (const auto& [of, line] : lines) chart.add_line(line, std::get<0>(of));
  for (size_t i = 0; i < runs.size(); ++i) {
    const double tps = *runs[i].config->decode_tps;
    chart.add_marker(
        {static_cast<double>(i), tps}, runs[i].series,
        fmt::format("{} {}: {:.2f} tok/s, {}{}", runs[i].entry->timestamp, runs[i].entry->git_revision, tps,
                    names[runs[i].series], runs[i].config->cut ? ", " + runs[i].config->note : ""));
  }
  return fmt::format("<figure><figcaption>{}</figcaption>{}</figure>\n", html_escaped(key), chart.text());
}

std::vector<std::string> table_row(const LogEntry& entry, const LogEntry::Config& config) {
  const std::string bound = config.decode_bound.empty() ? "" : " of " + config.decode_bound;
  return {entry.timestamp,
          entry.git_revision,
          entry.series(),
          config.key + (config.cut ? " (cut)" : ""),
          fmt::format("{} + {}", config.prompt_tokens, config.generated_tokens),
          fixed(config.e2e_tps, 1),
          fixed(config.decode_tps, 1),
          milliseconds(config.ttft_ms),
          fixed(config.decode_gb_per_s, 2),
          config.decode_pct_of_ceiling ? fixed(config.decode_pct_of_ceiling, 1) + " %" + bound : "—"};
}

// The newest first.
std::string latest_table(const std::vector<const LogEntry*>& entries) {
  constexpr size_t kMostRows = 40;
  std::vector<std::vector<std::string>> rows;
  for (size_t i = entries.size(); i-- > 0;) {
    for (const LogEntry::Config& config : entries[i]->configs) {
      if (rows.size() < kMostRows) rows.push_back(table_row(*entries[i], config));
    }
  }
  return html_table(fmt::format("The latest runs, at most {} rows", kMostRows),
                    {"Time (UTC)", "Revision", "Model and machine", "Config", "Tokens", "E2E tok/s",
                     "Decode tok/s", "TTFT ms", "Decode GB/s", "Of ceiling"},
                    rows, 4);
}

}  // namespace

std::string history_section(std::span<const LogEntry> history) {
  if (history.empty()) return "";
  std::vector<const LogEntry*> entries;
  for (const LogEntry& entry : history) entries.push_back(&entry);
  std::stable_sort(entries.begin(), entries.end(),
                   [](const LogEntry* a, const LogEntry* b) { return a->timestamp < b->timestamp; });
  std::vector<std::string> names;
  std::vector<std::pair<std::string, std::vector<Run>>> panels;  // by configuration, in order of appearance
  for (const LogEntry* entry : entries) {
    const std::string name = entry->series();
    const auto known = std::find(names.begin(), names.end(), name);
    const auto series = static_cast<size_t>(known - names.begin());
    if (known == names.end()) names.push_back(name);
    for (const LogEntry::Config& config : entry->configs) {
      if (!config.decode_tps) continue;
      const auto same = [&](const auto& panel) { return panel.first == config.key; };
      auto found = std::find_if(panels.begin(), panels.end(), same);
      if (found == panels.end()) found = panels.insert(panels.end(), {config.key, {}});
      found->second.push_back({entry, &config, series});
    }
  }
  std::string text = "<section id='history'><h2>History</h2>\n" + legend(names) + "<div class='panels'>\n";
  for (const auto& [key, runs] : panels) text += panel(key, runs, names);
  return text + "</div>\n" + latest_table(entries) + "</section>\n";
}

}  // namespace inferno::bench
