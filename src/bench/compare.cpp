#include "bench/compare.h"

#include <algorithm>

#include "base/text.h"
#include "bench/places.h"
#include "bench/report/markdown_table.h"

namespace inferno::bench {
namespace {

// Of the tokens after the first, up to token n.
double steps_s(const Trial& trial, size_t n) {
  double s = 0;
  for (size_t i = 0; i + 1 < n; ++i) s += seconds(trial.steps[i]);
  return s;
}

// What two rows are compared over: the first n tokens of each.
struct Common {
  size_t n = 0;
  bool whole = true;  // all that both made
};

std::optional<double> e2e(const Trial& trial, const Common& common) {
  const double s = common.whole ? seconds(trial.wall) : seconds(trial.ttft) + steps_s(trial, common.n);
  return s > 0 ? std::optional(static_cast<double>(common.n) / s) : std::nullopt;
}

std::optional<double> decode(const Trial& trial, const Common& common) {
  const double s = steps_s(trial, common.n);
  return s > 0 ? std::optional(static_cast<double>(common.n - 1) / s) : std::nullopt;
}

std::optional<double> ttft(const Trial& trial, const Common&) {
  return 1e3 * seconds(trial.ttft);
}

struct Metric {
  const char* name;
  bool higher_is_better;
  std::optional<double> (*of)(const Trial& trial, const Common& common);
};

constexpr Metric kMetrics[] = {
    {"E2E tok/s", true, e2e}, {"decode tok/s", true, decode}, {"TTFT ms", false, ttft}};

using Trials = std::vector<Trial>;

size_t tokens(const Trials& trials) {
  return trials.empty() ? 0 : trials.back().steps.size() + 1;
}

Common common_tokens(const Trials& a, const Trials& b) {
  return {std::min(tokens(a), tokens(b)), tokens(a) == tokens(b)};
}

std::vector<double> sample(const Trials& trials, const Metric& metric, const Common& common) {
  std::vector<double> values;
  for (const Trial& trial : trials) {
    if (const auto value = metric.of(trial, common)) values.push_back(*value);
  }
  return values;
}

Verdict judge(const MetricComparison& metric) {
  if (least_rank_sum_p(metric.a.n, metric.b.n) > kLevel) return Verdict::kTooFewTrials;
  if (metric.p > kLevel || metric.regression == 0) return Verdict::kNoDifferenceShown;
  return metric.regression > 0 ? Verdict::kSlower : Verdict::kFaster;
}

std::optional<MetricComparison> compare_metric(const Trials& a, const Trials& b, const Metric& metric) {
  const Common common = common_tokens(a, b);
  const std::vector<double> of_a = sample(a, metric, common);
  const std::vector<double> of_b = sample(b, metric, common);
  const auto quartiles_a = quartiles(of_a);
  const auto quartiles_b = quartiles(of_b);
  if (!quartiles_a || !quartiles_b || quartiles_a->p50 <= 0 || quartiles_b->p50 <= 0) return std::nullopt;
  MetricComparison result;
  result.metric = metric.name;
  result.higher_is_better = metric.higher_is_better;
  result.a = *quartiles_a;
  result.b = *quartiles_b;
  result.ratio = result.b.p50 / result.a.p50;
  result.regression = metric.higher_is_better ? 1 - result.ratio : result.ratio - 1;
  result.p = rank_sum_p(of_a, of_b);
  result.verdict = judge(result);
  return result;
}

Error not_comparable(std::string_view what, std::string_view a, std::string_view b) {
  return make_error(ErrorCode::kInvalidArgument,
                    "cannot compare: {} of the first report is {}, of the second {}", what, quote(a),
                    quote(b));
}

Status check_setting(const Setting& a, const Setting& b) {
  if (a.model != b.model) return not_comparable("the model", a.model, b.model);
  if (a.dtype != b.dtype) return not_comparable("the weights' type", a.dtype, b.dtype);
  if (a.device.threads != b.device.threads) {
    return not_comparable("the number of threads", std::to_string(a.device.threads),
                          std::to_string(b.device.threads));
  }
  const auto cache = [](const Setting& s) { return s.use_kv_cache ? "with a KV cache" : "without"; };
  if (a.use_kv_cache != b.use_kv_cache) return not_comparable("the decoding", cache(a), cache(b));
  return {};
}

bool same_sampling(const sampling::SamplingParams& a, const sampling::SamplingParams& b) {
  return a.temperature == b.temperature && a.top_k == b.top_k && a.top_p == b.top_p && a.min_p == b.min_p &&
         a.repetition_penalty == b.repetition_penalty;
}

Status check_config(const ConfigResult& a, const ConfigResult& b) {
  const auto lengths = [](const ConfigResult& result) {
    return fmt::format("{} + {} tokens", result.prompt_tokens,
                       result.cut ? result.config.max_new_tokens : result.max_new_tokens);
  };
  const std::string where = escaped(a.config.key);
  if (lengths(a) != lengths(b)) return not_comparable("the length in " + where, lengths(a), lengths(b));
  if (!same_sampling(a.config.sampling, b.config.sampling)) {
    return make_error(ErrorCode::kInvalidArgument, "cannot compare: the reports differ in how {} samples",
                      where);
  }
  return {};
}

void warn_of_settings(const Setting& a, const Setting& b, std::vector<std::string>& warnings) {
  const auto warn = [&](std::string_view what, const std::string& of_a, const std::string& of_b) {
    if (of_a != of_b) warnings.push_back(fmt::format("{}: {} and {}", what, quote(of_a), quote(of_b)));
  };
  warn("the reports are of different machines", a.device_name, b.device_name);
  warn("the reports are of different backends", a.device.backend, b.device.backend);
  warn("the reports are of different instruction sets", a.device.isa, b.device.isa);
  warn("the caches hold different types", a.kv_type, b.kv_type);
}

// Trials of either report that ran on what are two machines.
void warn_of_places(const ConfigResult& a, const ConfigResult& b, const Setting& setting,
                    std::vector<std::string>& warnings) {
  ConfigResult both = a;
  both.trials.insert(both.trials.end(), b.trials.begin(), b.trials.end());
  const std::vector<Place> found = places(both, setting);
  if (found.size() < 2) return;
  warnings.push_back(
      fmt::format("{}: the host moved the processors between trials (a cache line's trip from one to another "
                  "took {} to {} "
                  "ns), which alone makes medians differ; measure both again, in turn",
                  escaped(a.config.key), found.front().line_trip.count(), found.back().line_trip.count()));
}

const ConfigResult* find(const Report& report, const std::string& key) {
  const auto found = std::find_if(report.results.begin(), report.results.end(),
                                  [&](const ConfigResult& result) { return result.config.key == key; });
  return found == report.results.end() ? nullptr : &*found;
}

void add_config(const ConfigResult& a, const ConfigResult* b, Comparison& comparison) {
  const std::string key = escaped(a.config.key);
  const Trials of_a = trials_of_one_length(a);
  const Trials of_b = b != nullptr ? trials_of_one_length(*b) : Trials();
  if (of_a.empty()) {
    comparison.warnings.push_back(key + " has no trials in the first report");
    return;
  }
  if (of_b.empty()) {
    comparison.missing.push_back(
        fmt::format("{} {} the second report", key, b == nullptr ? "is not in" : "has no trials in"));
    return;
  }
  if (const Common common = common_tokens(of_a, of_b); !common.whole) {
    comparison.warnings.push_back(fmt::format(
        "{} is compared over its first {} tokens, E2E up to the last of them leaving the sampler: {} and {} "
        "were generated",
        key, common.n, tokens(of_a), tokens(of_b)));
  }
  ConfigComparison config{a.config.key, {}};
  for (const Metric& metric : kMetrics) {
    if (auto compared = compare_metric(of_a, of_b, metric)) {
      config.metrics.push_back(*compared);
    } else if (!sample(of_a, metric, common_tokens(of_a, of_a)).empty()) {
      comparison.missing.push_back(
          fmt::format("{}: {} cannot be compared with the second report's trials", key, metric.name));
    }
  }
  if (!config.metrics.empty()) comparison.configs.push_back(std::move(config));
}

std::string spread(const Quartiles& q) {
  return fmt::format("{} ({} to {}, n={})", fixed(q.p50, 2), fixed(q.p25, 2), fixed(q.p75, 2), q.n);
}

}  // namespace

std::string_view name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFaster:
      return "faster";
    case Verdict::kSlower:
      return "slower";
    case Verdict::kNoDifferenceShown:
      return "no difference shown";
    case Verdict::kTooFewTrials:
      return "too few trials";
  }
  return "";
}

Result<Comparison> compare(const Report& a, const Report& b) {
  TRY(check_setting(a.setting, b.setting));
  Comparison comparison;
  warn_of_settings(a.setting, b.setting, comparison.warnings);
  for (const ConfigResult& result : a.results) {
    const ConfigResult* other = find(b, result.config.key);
    if (other != nullptr) {
      TRY(check_config(result, *other));
      warn_of_places(result, *other, a.setting, comparison.warnings);
    }
    add_config(result, other, comparison);
  }
  for (const ConfigResult& result : b.results) {
    if (find(a, result.config.key) != nullptr) continue;
    comparison.warnings.push_back(escaped(result.config.key) + " is in the second report only");
  }
  if (comparison.configs.empty()) {
    return Error{ErrorCode::kInvalidArgument,
                 "cannot compare: no configuration was measured in both reports"};
  }
  return comparison;
}

std::string comparison_table(const Comparison& comparison) {
  using Align = MarkdownTable::Align;
  MarkdownTable table({{"Config", Align::kLeft},
                       {"Figure", Align::kLeft},
                       {"A: median (quartiles)", Align::kRight},
                       {"B: median (quartiles)", Align::kRight},
                       {"B/A", Align::kRight},
                       {"p", Align::kRight},
                       {"B is", Align::kLeft}});
  for (const ConfigComparison& config : comparison.configs) {
    for (const MetricComparison& metric : config.metrics) {
      table.add_row({config.key, metric.metric, spread(metric.a), spread(metric.b), fixed(metric.ratio, 3),
                     fixed(metric.p, 3), std::string(name(metric.verdict))});
    }
  }
  return table.text();
}

}  // namespace inferno::bench
