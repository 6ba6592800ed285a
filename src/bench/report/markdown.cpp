#include "bench/report/markdown.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <set>

#include "base/text.h"
#include "bench/figures.h"
#include "bench/report/markdown_table.h"

namespace inferno::bench {
namespace {

using Align = MarkdownTable::Align;

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;

// One report's results with what follows from them.
struct Column {
  const Report* report;
  std::string name;
  std::vector<std::optional<Figures>> figures;  // of each result

  // The place of a configuration among the results.
  std::optional<size_t> find(std::string_view key) const {
    const auto& results = report->results;
    const auto found = std::find_if(results.begin(), results.end(),
                                    [&](const ConfigResult& result) { return result.config.key == key; });
    if (found == results.end()) return std::nullopt;
    return static_cast<size_t>(found - results.begin());
  }
};

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

// Keys of all reports, in order of first appearance.
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

std::string sampling_text(const sampling::SamplingParams& params) {
  if (params.temperature == 0) return "greedy";
  std::string text = fmt::format("temp={}", params.temperature);
  if (params.top_k > 0) text += fmt::format(" top_k={}", params.top_k);
  if (params.top_p < 1) text += fmt::format(" top_p={}", params.top_p);
  if (params.min_p > 0) text += fmt::format(" min_p={}", params.min_p);
  if (params.repetition_penalty != 1) text += fmt::format(" rep={}", params.repetition_penalty);
  return text;
}

bool is_one_of(std::string_view key, std::initializer_list<std::string_view> keys) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

// As the seed: no row where another configuration has the same prompt, or the same cache.
bool has_ttft_row(std::string_view key) {
  return !is_one_of(key, {"decode", "sampled", "full-pipe"});
}
bool has_memory_row(std::string_view key) {
  return !is_one_of(key, {"sampled", "full-pipe"});
}
bool every_row(std::string_view) {
  return true;
}

// A value of one configuration in one report; "—" where it did not run.
struct Cell {
  std::string title;  // after the report's name: "P50", or ""
  std::function<std::string(const Column&, size_t)> text;
};

Cell cell(std::string title, std::function<std::optional<double>(const Figures&)> value, int digits) {
  return {std::move(title), [value = std::move(value), digits](const Column& column, size_t i) {
            const auto& f = column.figures[i];
            return fixed(f ? value(*f) : std::nullopt, digits);
          }};
}

std::string config_table(std::span<const Config> configs, std::span<const Column> columns,
                         const std::vector<Cell>& cells, bool (*has_row)(std::string_view) = every_row) {
  std::vector<MarkdownTable::Column> header = {{"Config", Align::kLeft}};
  for (const Column& column : columns) {
    for (const Cell& cell : cells) {
      header.push_back({cell.title.empty() ? column.name : column.name + " " + cell.title, Align::kRight});
    }
  }
  MarkdownTable table(std::move(header));
  for (const Config& config : configs) {
    if (!has_row(config.key)) continue;
    std::vector<std::string> row = {config.key};
    for (const Column& column : columns) {
      const auto at = column.find(config.key);
      for (const Cell& cell : cells) row.push_back(at ? cell.text(column, *at) : "—");
    }
    table.add_row(std::move(row));
  }
  return table.text();
}

std::optional<double> median(const std::optional<Quartiles>& quartiles) {
  return quartiles ? std::optional(quartiles->p50) : std::nullopt;
}

std::string machine_lines(const Column& column) {
  const Setting& s = column.report->setting;
  const Limits limit = limits(s);
  std::string ceilings = limit.read_gb_per_s ? fmt::format("{:.1f} GB/s read", *limit.read_gb_per_s) : "";
  if (limit.gops) {
    ceilings += fmt::format("{}{:.1f} G {} operations/s", ceilings.empty() ? "" : ", ", *limit.gops,
                            limit.arithmetic);
  }
  return fmt::format(
      "- **{}**: {} weights, {}; {} ({} backend, {}, {} thread{}); ceilings: {}; inferno {}{}, {}\n",
      column.name, escaped(s.dtype), s.use_kv_cache ? escaped(s.kv_type) + " KV cache" : "no KV cache",
      escaped(s.device_name), escaped(s.device.backend), escaped(s.device.isa), s.device.threads,
      s.device.threads == 1 ? "" : "s", ceilings.empty() ? "not measured" : ceilings,
      escaped(s.engine_version), s.git_revision.empty() ? "" : " " + escaped(s.git_revision),
      escaped(s.timestamp));
}

std::string configs_table(std::span<const Config> configs) {
  MarkdownTable table({{"Key", Align::kLeft},
                       {"Prompt", Align::kRight},
                       {"Gen", Align::kRight},
                       {"Sampling", Align::kLeft},
                       {"Purpose", Align::kLeft}});
  for (const Config& config : configs) {
    table.add_row({config.key, std::to_string(config.prompt_tokens), std::to_string(config.max_new_tokens),
                   sampling_text(config.sampling), config.purpose});
  }
  return table.text();
}

std::string decode_tables(std::span<const Config> configs, std::span<const Column> columns) {
  const Cell seed = cell(
      "", [](const Figures& f) { return median(f.decode_seed_tps); }, 1);
  const Cell steps = cell(
      "steps", [](const Figures& f) { return median(f.decode_tps); }, 1);
  const Cell forward = cell(
      "forward", [](const Figures& f) { return median(f.decode_forward_tps); }, 1);
  return "### Decode throughput (tok/s)\n\n"
         "As the seed counts it: generated tokens / time of the decode passes.\n\n" +
         config_table(configs, columns, {seed}) +
         "\n### Decode throughput without the first token (tok/s)\n\n"
         "(generated - 1) / time: of the steps, sampling and detokenization included; of the forward passes "
         "alone.\n\n" +
         config_table(configs, columns, {steps, forward});
}

std::string memory_table(std::span<const Config> configs, std::span<const Column> columns) {
  const bool gpu = std::any_of(columns.begin(), columns.end(), [](const Column& column) {
    const auto& results = column.report->results;
    return std::any_of(results.begin(), results.end(),
                       [](const ConfigResult& result) { return result.peak_gpu_bytes.has_value(); });
  });
  const Cell cache = {"cache", [](const Column& column, size_t i) {
                        return cache_mb(column.report->setting, column.report->results[i]);
                      }};
  const Cell peak = {"peak", [gpu](const Column& column, size_t i) {
                       const ConfigResult& result = column.report->results[i];
                       if (gpu && !result.peak_gpu_bytes) return std::string("—");
                       const uint64_t bytes = gpu ? *result.peak_gpu_bytes : result.peak_host_bytes;
                       return fixed(static_cast<double>(bytes) / kGiB, 2);
                     }};
  return fmt::format("### KV cache memory (MB) and peak {} (GiB)\n\n",
                     gpu ? "GPU allocation" : "memory of the process") +
         config_table(configs, columns, {cache, peak}, has_memory_row);
}

std::string ceiling_cell(const std::optional<PhaseFigures>& phase) {
  if (!phase || !phase->of_ceiling) return "—";
  const OfCeiling& of = *phase->of_ceiling;
  return fmt::format("{} {}{}", fixed(of.pct, 1), name(of.bound), of.partial ? "*" : "");
}

std::string ceiling_table(std::span<const Config> configs, std::span<const Column> columns) {
  const auto of = [](std::optional<PhaseFigures> Figures::*phase) {
    return [phase](const Column& column, size_t i) {
      const auto& f = column.figures[i];
      return f ? ceiling_cell((*f).*phase) : "—";
    };
  };
  const Cell gb_per_s = cell(
      "decode GB/s",
      [](const Figures& f) { return f.decode ? std::optional(f.decode->gb_per_s) : std::nullopt; }, 2);
  return "### Share of the ceiling that binds (%)\n\n" +
         config_table(configs, columns,
                      {{"prefill", of(&Figures::prefill)}, {"decode", of(&Figures::decode)}, gb_per_s});
}

std::string shares_table(std::span<const Config> configs, std::span<const Column> columns) {
  const auto share = [](double Shares::*member) {
    return [member](const Figures& f) { return std::optional(100 * f.shares.*member); };
  };
  return "### Where the wall time goes (%)\n\n" +
         config_table(
             configs, columns,
             {cell("prefill", share(&Shares::prefill), 1), cell("decode", share(&Shares::decode), 1),
              cell("sampling", share(&Shares::sampling), 1), cell("detok", share(&Shares::detokenization), 1),
              cell("other", share(&Shares::other), 1)});
}

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
  if (!now || !then || !now->decode_seed_tps || !then->decode_seed_tps) return;
  if (!now->step_ms || !then->step_ms) return;
  const double old_tps = then->decode_seed_tps->p50;
  const double tps = now->decode_seed_tps->p50;
  const double old_ms = then->step_ms->p50;
  const double ms = now->step_ms->p50;
  const auto reduction = old_ms > 0 ? std::optional(100 * (1 - ms / old_ms)) : std::nullopt;
  table.add_row({fmt::format("{} ({})", column.name, *key), fixed(old_tps, 1) + " tok/s",
                 fixed(tps, 1) + " tok/s", fixed(tps / old_tps, 2) + "x",
                 fmt::format("{}ms → {}ms ({}%)", fixed(old_ms, 1), fixed(ms, 1), fixed(reduction, 0))});
}

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
  return fmt::format("\n### Speedup vs {}\n\n", fmt::join(labels, ", ")) + table.text();
}

void add_row_note(std::string& notes, const Column& column, size_t i) {
  const ConfigResult& result = column.report->results[i];
  if (!result.note.empty())
    notes += fmt::format("- **{}, {}**: {}\n", column.name, escaped(result.config.key),
                         escaped(result.note, result.note.size()));
}

std::string notes(std::span<const Column> columns) {
  std::string notes =
      "### Notes\n\n"
      "- Medians over trials. End-to-end time is that of the request, sampling and detokenization included; "
      "the length is forced.\n"
      "- Share of the ceiling: the shortest time that the measured read bandwidth and arithmetic peak allow "
      "for the bytes and operations that the backend counted, over the measured time.\n";
  bool partial = false;
  for (const Column& column : columns) {
    for (size_t i = 0; i < column.figures.size(); ++i) {
      add_row_note(notes, column, i);
      const auto& f = column.figures[i];
      for (const auto& phase : {f ? f->prefill : std::nullopt, f ? f->decode : std::nullopt}) {
        partial = partial || (phase && phase->of_ceiling && phase->of_ceiling->partial);
      }
    }
  }
  if (partial) {
    notes += "- \\*: the other ceiling was not measured, so the share of the one that binds may be higher.\n";
  }
  return notes;
}

}  // namespace

std::vector<std::string> column_names(std::span<const Report> reports) {
  using Part = std::string (*)(const Setting&);
  constexpr Part kParts[] = {
      [](const Setting& s) { return escaped(s.model); },
      [](const Setting& s) { return " " + escaped(s.dtype); },
      [](const Setting& s) { return std::string(s.use_kv_cache ? "" : " no cache"); },
      [](const Setting& s) { return " " + escaped(s.device.backend); },
      [](const Setting& s) { return fmt::format(" {}t", s.device.threads); },
      [](const Setting& s) {
        return s.git_revision.empty() ? "" : " " + escaped(s.git_revision.substr(0, 9));
      },
  };
  std::vector<std::string> names(reports.size());
  for (const Part part : kParts) {
    for (size_t i = 0; i < reports.size(); ++i) names[i] += part(reports[i].setting);
    if (std::set(names.begin(), names.end()).size() == names.size()) return names;
  }
  for (size_t i = 0; i < names.size(); ++i) names[i] += fmt::format(" #{}", i + 1);
  return names;
}

std::string cache_mb(const Setting& setting, const ConfigResult& result) {
  return setting.use_kv_cache ? fixed(static_cast<double>(result.cache_bytes) / 1e6, 1) : "none";
}

std::string markdown(std::span<const Report> reports, std::span<const Report> previous) {
  const std::vector<Column> columns = columns_of(reports);
  const std::vector<Config> configs = all_configs(reports);
  const Cell e2e = cell(
      "", [](const Figures& f) { return std::optional(f.e2e_tps.p50); }, 1);
  const Cell ttft = cell(
      "", [](const Figures& f) { return std::optional(f.ttft_ms.p50); }, 1);
  const auto step = [](double metrics::Summary::*member) {
    return
        [member](const Figures& f) { return f.step_ms ? std::optional((*f.step_ms).*member) : std::nullopt; };
  };
  std::string text = "# Generation benchmark\n\n";
  for (const Column& column : columns) text += machine_lines(column);
  text += "\n**Configs**:\n\n" + configs_table(configs);
  text += "\n### E2E throughput (tok/s)\n\n" + config_table(configs, columns, {e2e});
  text += "\n" + decode_tables(configs, columns);
  text += "\n### Per-step decode latency (ms)\n\n" +
          config_table(
              configs, columns,
              {cell("P50", step(&metrics::Summary::p50), 1), cell("P95", step(&metrics::Summary::p95), 1)});
  text += "\n### TTFT / prefill (ms)\n\n" + config_table(configs, columns, {ttft}, has_ttft_row);
  text += "\n" + memory_table(configs, columns);
  text += "\n" + ceiling_table(configs, columns);
  text += "\n" + shares_table(configs, columns);
  text += speedup_table(columns, previous);
  return text + "\n" + notes(columns);
}

}  // namespace inferno::bench
