#include "bench/report/markdown.h"

#include <algorithm>

#include "base/text.h"
#include "bench/figures.h"
#include "bench/report/markdown_columns.h"
#include "bench/report/markdown_table.h"
#include "bench/report/place_rows.h"

namespace inferno::bench {
namespace {

using Align = MarkdownTable::Align;

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;

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
std::optional<double> median(const std::optional<Quartiles>& quartiles) {
  return quartiles ? std::optional(quartiles->p50) : std::nullopt;
}

std::string machine_lines(const Column& column) {
  const Setting& s = column.report->setting;
  const Limits limit = limits(s);
  std::string ceilings = limit.read_gb_per_s ? fmt::format("{:.1f} GB/s read", *limit.read_gb_per_s) : "";
  if (s.ceilings.copy_gb_per_s > 0) ceilings += fmt::format(", {:.1f} GB/s copy", s.ceilings.copy_gb_per_s);
  if (limit.gops) {
    ceilings += fmt::format("{}{:.1f} G {} operations/s", ceilings.empty() ? "" : ", ", *limit.gops,
                            limit.arithmetic);
  }
  const auto& results = column.report->results;
  const bool has_own = std::any_of(results.begin(), results.end(), [](const ConfigResult& result) {
    return std::any_of(result.trials.begin(), result.trials.end(),
                       [](const Trial& trial) { return trial.ceilings.has_value(); });
  });
  if (has_own && !ceilings.empty())
    ceilings += " as remembered (trials are held against those measured beside them)";
  return fmt::format(
      "- **{}**: {} weights, {}; {} ({} backend, {}, {} thread{}); ceilings: {}; inferno {}{}, {}\n",
      column.name, escaped(s.dtype), s.use_kv_cache ? escaped(s.kv_type) + " KV cache" : "no KV cache",
      escaped(s.device_name), escaped(s.device.backend), escaped(s.device.isa), s.device.threads,
      s.device.threads == 1 ? "" : "s", ceilings.empty() ? "not measured" : ceilings,
      escaped(s.engine_version), s.git_revision.empty() ? "" : fmt::format(" {}", escaped(s.git_revision)),
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

std::string decode_table(std::span<const Config> configs, std::span<const Column> columns) {
  const Cell steps = cell(
      "", [](const Figures& f) { return median(f.decode_tps); }, 1);
  const Cell forward = cell(
      "forward", [](const Figures& f) { return median(f.decode_forward_tps); }, 1);
  const Cell seed = cell(
      "N/(N-1)", [](const Figures& f) { return median(f.decode_seed_tps); }, 1);
  return "### Decode throughput (tok/s)\n\n"
         "First what a user sees: N-1 tokens after the first / the time of their steps, sampling and text "
         "included.\n"
         "`forward`: the same tokens / the time of their forward passes. `N/(N-1)`: as the seed's log "
         "counts, "
         "all N tokens / the time of N-1 passes, which flatters.\n\n" +
         config_table(configs, columns, {steps, forward, seed});
}

using Written = std::string (*)(std::optional<double>);
Cell quartile_cell(
    std::string title, std::function<std::optional<Quartiles>(const Figures&)> of,
    Written written = [](std::optional<double> value) { return fixed(value, 1); }) {
  return {std::move(title), [of = std::move(of), written](const Column& column, size_t i) {
            const auto& f = column.figures[i];
            const auto q = f ? of(*f) : std::nullopt;
            return q ? written(q->p25) + " to " + written(q->p75) : std::string("—");
          }};
}

std::string quartile_table(std::span<const Config> configs, std::span<const Column> columns) {
  const auto figure = [](Quartiles Figures::*member) {
    return [member](const Figures& f) { return std::optional(f.*member); };
  };
  return "### Spread over trials (quartiles)\n\n" +
         config_table(configs, columns,
                      {quartile_cell("E2E tok/s", figure(&Figures::e2e_tps)),
                       quartile_cell("decode tok/s", [](const Figures& f) { return f.decode_tps; }),
                       quartile_cell("prefill tok/s", figure(&Figures::prompt_tps)),
                       quartile_cell("TTFT ms", figure(&Figures::ttft_ms), milliseconds)});
}

std::string memory_table(std::span<const Config> configs, std::span<const Column> columns) {
  const bool gpu = std::any_of(columns.begin(), columns.end(), [](const Column& column) {
    const auto& results = column.report->results;
    return std::any_of(results.begin(), results.end(),
                       [](const ConfigResult& result) { return result.peak_gpu_bytes.has_value(); });
  });
  const Cell cache = {"cache", [](const Column& column, size_t i) {
                        const ConfigResult& result = column.report->results[i];
                        return result.trials.empty() ? "—" : cache_mb(column.report->setting, result);
                      }};
  const Cell peak = {"peak", [gpu](const Column& column, size_t i) {
                       const ConfigResult& result = column.report->results[i];
                       if (result.trials.empty() || (gpu && !result.peak_gpu_bytes)) return std::string("—");
                       const uint64_t bytes = gpu ? *result.peak_gpu_bytes : result.peak_host_bytes;
                       return fixed(static_cast<double>(bytes) / kGiB, 2);
                     }};
  return fmt::format("### KV cache memory (MB) and peak {} (GiB)\n\n",
                     gpu ? "GPU allocation" : "memory of the process") +
         config_table(configs, columns, {cache, peak}, has_memory_row);
}

// Whether some row read less than the file has of the weights.
bool spares_bytes(const Column& column) {
  return std::any_of(column.figures.begin(), column.figures.end(),
                     [](const auto& f) { return f && f->decode_of_all_bytes; });
}

std::string ceiling_table(std::span<const Config> configs, std::span<const Column> columns) {
  const auto of = [](std::optional<PhaseFigures> Figures::*phase) {
    return [phase](const Column& column, size_t i) {
      const auto& f = column.figures[i];
      return ceiling_cell(f && (*f).*phase ? ((*f).*phase)->of_ceiling : std::nullopt);
    };
  };
  const auto of_all_bytes = [](const Column& column, size_t i) {
    const auto& f = column.figures[i];
    return ceiling_cell(f ? f->decode_of_all_bytes : std::nullopt);
  };
  const Cell gb_per_s = cell(
      "decode GB/s",
      [](const Figures& f) { return f.decode ? std::optional(f.decode->gb_per_s) : std::nullopt; }, 2);
  std::vector<Cell> cells = {{"prefill", of(&Figures::prefill)}, {"decode", of(&Figures::decode)}, gb_per_s};
  if (std::any_of(columns.begin(), columns.end(), spares_bytes))
    cells.push_back({"decode, all bytes", of_all_bytes});
  return "### Share of the ceiling that binds (%)\n\n" + config_table(configs, columns, cells);
}

// The heading as well, and only where the host moved the processors.
std::string places_table(std::span<const Column> columns) {
  std::vector<MarkdownTable::Column> header;
  for (std::string& title : place_header())
    header.push_back({std::move(title), header.empty() ? Align::kLeft : Align::kRight});
  MarkdownTable table(std::move(header));
  for (const Column& column : columns) {
    for (std::vector<std::string>& row : place_rows(*column.report)) {
      if (columns.size() > 1) row.front() = fmt::format("{}, {}", column.name, row.front());
      table.add_row(std::move(row));
    }
  }
  if (table.empty()) return "";
  return fmt::format("\n### By where the processors were\n\n{}\n\n", place_caption()) + table.text();
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

// The heading as well, and only where something is known.
std::string prompt_parts_table(std::span<const Config> configs, std::span<const Column> columns) {
  const bool known = std::any_of(columns.begin(), columns.end(), [](const Column& column) {
    return std::any_of(column.figures.begin(), column.figures.end(),
                       [](const std::optional<Figures>& f) { return f && f->prompt_parts; });
  });
  if (!known) return "";
  const auto share = [](std::string title, double (*of)(const PromptFigures&)) {
    return cell(
        std::move(title),
        [of](const Figures& f) {
          return f.prompt_parts ? std::optional(100 * of(*f.prompt_parts)) : std::nullopt;
        },
        1);
  };
  const auto of_peak = [](std::string title, PromptFigures::Part PromptFigures::*part) {
    return Cell{std::move(title), [part](const Column& column, size_t i) {
                  const auto& f = column.figures[i];
                  if (!f || !f->prompt_parts) return std::string("—");
                  const PromptFigures::Part& of = (*f->prompt_parts).*part;
                  return fixed(of.pct, 1) + in_brackets(of.pct_of_typical);
                }};
  };
  return "\n### Where the time of a prompt goes (%)\n\n"
         "`of peak`: what the products with weights compute in their time, of the arithmetic peak. `of "
         "fp32`: what attention computes, of the peak of fp32; where it is made of tiles, it may pass "
         "100.\n\n" +
         config_table(configs, columns,
                      {share("matrices", [](const PromptFigures& f) { return f.matrices.share; }),
                       of_peak("of peak", &PromptFigures::matrices),
                       share("attention", [](const PromptFigures& f) { return f.attention.share; }),
                       of_peak("of fp32", &PromptFigures::attention),
                       share("rest", [](const PromptFigures& f) { return f.rest; })});
}

// A line for each note, with all rows that have it.
void add_row_notes(std::string& notes, const Column& column) {
  const std::vector<ConfigResult>& results = column.report->results;
  for (size_t i = 0; i < results.size(); ++i) {
    const std::string& note = results[i].note;
    const auto has_it = [&](const ConfigResult& result) { return result.note == note; };
    const auto end = results.begin() + static_cast<std::ptrdiff_t>(i);
    if (note.empty() || std::any_of(results.begin(), end, has_it)) continue;
    std::string keys;
    for (const ConfigResult& result : results) {
      if (has_it(result)) keys += ", " + escaped(result.config.key);
    }
    notes += fmt::format("- **{}{}**: {}\n", column.name, keys, escaped(note, note.size()));
  }
}

// A machine that changes while it is measured: a virtual one, mostly.
void add_ceilings_note(std::string& notes, const Column& column, size_t i) {
  const ConfigResult& result = column.report->results[i];
  const auto range = [&](double backend::CeilingsNow::*member) -> std::optional<std::pair<double, double>> {
    std::vector<double> sample;
    for (const Trial& trial : result.trials) {
      if (trial.ceilings && (*trial.ceilings).*member > 0) sample.push_back((*trial.ceilings).*member);
    }
    if (sample.empty()) return std::nullopt;
    const auto [least, most] = std::minmax_element(sample.begin(), sample.end());
    return *most > 1.1 * *least ? std::optional(std::pair(*least, *most)) : std::nullopt;
  };
  std::vector<std::string> changes;
  if (const auto read = range(&backend::CeilingsNow::read_gb_per_s))
    changes.push_back(fmt::format("memory gave {:.1f} to {:.1f} GB/s", read->first, read->second));
  if (const auto gops = range(&backend::CeilingsNow::gops))
    changes.push_back(fmt::format("its arithmetic ran at {:.0f} to {:.0f} G/s", gops->first, gops->second));
  if (changes.empty()) return;
  notes += fmt::format("- **{}, {}**: the machine's speed changed meanwhile: {}.\n", column.name,
                       escaped(result.config.key), join(changes, ", "));
}

std::string notes(std::span<const Column> columns) {
  std::string notes =
      "### Notes\n\n"
      "- Medians over trials. End-to-end time is that of the request, sampling and detokenization included; "
      "the length is forced.\n"
      "- Share of the ceiling: the shortest time that the measured read bandwidth and arithmetic peak allow "
      "for the bytes and operations that the backend counted, over the measured time. What was measured "
      "right before and right after a trial holds for it.\n";
  bool partial = false, typical = false, in_caches = false;
  for (const Column& column : columns) {
    add_row_notes(notes, column);
    for (size_t i = 0; i < column.figures.size(); ++i) {
      add_ceilings_note(notes, column, i);
      const auto& f = column.figures[i];
      for (const auto& phase : {f ? f->prefill : std::nullopt, f ? f->decode : std::nullopt}) {
        if (!phase || !phase->of_ceiling) continue;
        partial = partial || phase->of_ceiling->partial;
        in_caches = in_caches || (phase->of_ceiling->pct > 100 && phase->of_ceiling->bound == Bound::kMemory);
        typical = typical || phase->of_ceiling->pct_of_typical;
      }
    }
  }
  if (in_caches) {
    notes +=
        "- Above 100 % of memory: the caches hold much of what is read, and give it faster than memory "
        "does.\n";
  }
  if (typical) {
    notes +=
        "- In brackets: the share of the machine's median speed beside each trial, which is measured in some "
        "tens of windows (of memory: each reads as much as a token does); the first number is of the best of "
        "them. The second may pass 100.\n";
  }
  if (std::any_of(columns.begin(), columns.end(), spares_bytes)) {
    notes +=
        "- `decode` counts the bytes that were read; `decode, all bytes` is what it would be, had all that "
        "the "
        "file has of the weights been read in that time, nothing left of the LM head and nothing kept in "
        "fewer bytes: compare that with engines that read it. It may pass 100.\n";
  }
  if (partial) {
    notes += "- \\*: the other ceiling was not measured, so the share of the one that binds may be higher.\n";
  }
  return notes;
}

}  // namespace

std::string cache_mb(const Setting& setting, const ConfigResult& result) {
  return setting.use_kv_cache ? fixed(static_cast<double>(result.cache_bytes) / 1e6, 1) : "none";
}

std::string markdown(std::span<const Report> reports, std::span<const Report> previous) {
  const std::vector<Column> columns = columns_of(reports);
  const std::vector<Config> configs = all_configs(reports);
  const Cell e2e = cell(
      "", [](const Figures& f) { return std::optional(f.e2e_tps.p50); }, 1);
  const Cell ttft = cell_ms("", [](const Figures& f) { return std::optional(f.ttft_ms.p50); });
  const Cell prefill = cell(
      "", [](const Figures& f) { return std::optional(f.prompt_tps.p50); }, 1);
  const auto step = [](double metrics::Summary::*member) {
    return
        [member](const Figures& f) { return f.step_ms ? std::optional((*f.step_ms).*member) : std::nullopt; };
  };
  std::string title = "# Generation benchmark\n\n";
  for (const Column& column : columns) title += machine_lines(column);
  const std::string sections[] = {
      title,
      "**Configs**:\n\n" + configs_table(configs),
      "### E2E throughput (tok/s)\n\n" + config_table(configs, columns, {e2e}),
      decode_table(configs, columns),
      "### Per-step decode latency (ms)\n\n" + config_table(configs, columns,
                                                            {cell_ms("P50", step(&metrics::Summary::p50)),
                                                             cell_ms("P95", step(&metrics::Summary::p95))}),
      "### TTFT / prefill (ms)\n\n" + config_table(configs, columns, {ttft}, has_ttft_row),
      "### Prefill throughput (tok/s)\n\n" + config_table(configs, columns, {prefill}, has_ttft_row),
      quartile_table(configs, columns),
      memory_table(configs, columns),
      ceiling_table(configs, columns) + places_table(columns),
      shares_table(configs, columns) + prompt_parts_table(configs, columns) +
          speedup_table(columns, previous),
      notes(columns),
  };
  return join(sections, "\n");
}

}  // namespace inferno::bench
