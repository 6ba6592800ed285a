#include "bench/figures.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace inferno::bench {
namespace {

double sum_of_steps(const Trial& trial) {
  return std::accumulate(trial.steps.begin(), trial.steps.end(), 0.0,
                         [](double sum, Nanoseconds step) { return sum + seconds(step); });
}

// Of a figure that a trial may lack.
using Figure = std::function<std::optional<double>(const Trial&)>;

std::optional<Quartiles> over_trials(const std::vector<Trial>& trials, const Figure& figure) {
  std::vector<double> sample;
  for (const Trial& trial : trials) {
    if (const auto value = figure(trial)) sample.push_back(*value);
  }
  return quartiles(sample);
}

std::optional<double> rate(double amount, double time) {
  return amount > 0 && time > 0 ? std::optional(amount / time) : std::nullopt;
}

std::optional<metrics::Summary> step_summary(const std::vector<Trial>& trials) {
  std::vector<double> sample;
  for (const Trial& trial : trials) {
    for (const Nanoseconds step : trial.steps) sample.push_back(1e3 * seconds(step));
  }
  return metrics::summarize(sample);
}

Shares mean_shares(const std::vector<Trial>& trials) {
  Shares shares;
  double n = 0;
  for (const Trial& trial : trials) n += trial.wall > Nanoseconds(0) ? 1 : 0;
  for (const Trial& trial : trials) {
    if (trial.wall <= Nanoseconds(0)) continue;
    const double whole = seconds(trial.wall) * n;
    shares.prefill += seconds(trial.prefill) / whole;
    shares.decode += seconds(trial.decode) / whole;
    shares.sampling += seconds(trial.sampling) / whole;
    shares.detokenization += seconds(trial.detokenization) / whole;
    shares.other += seconds(trial.other) / whole;
  }
  return shares;
}

Nanoseconds whole(const PromptParts& parts) {
  return parts.matrices + parts.attention + parts.rest;
}

// By those that were measured: 0 is what was not.
void replace_known(Limits& limits, double read_gb_per_s, double gops, double fp32_gops,
                   const std::string& arithmetic) {
  if (read_gb_per_s > 0) limits.read_gb_per_s = read_gb_per_s;
  if (fp32_gops > 0) limits.fp32_gops = fp32_gops;
  if (gops <= 0) return;
  limits.gops = gops;
  limits.arithmetic = arithmetic;
}

// 0 is what could not be measured.
double mean(double a, double b) {
  return a > 0 && b > 0 ? (a + b) / 2 : a + b;
}

// Medians of what held for each.
Limits median_limits(const std::vector<Trial>& trials, const Limits& setting) {
  const auto of = [&](std::optional<double> Limits::*member) {
    std::vector<double> sample;
    for (const Trial& trial : trials) {
      if (const auto limit = limits(trial, setting).*member) sample.push_back(*limit);
    }
    return metrics::percentile(sample, 0.5);
  };
  return {of(&Limits::read_gb_per_s), of(&Limits::gops), limits(trials.back(), setting).arithmetic,
          of(&Limits::fp32_gops)};
}

std::optional<PhaseFigures> phase(const std::vector<Trial>& trials, Nanoseconds Trial::*time,
                                  metrics::Cost Trial::*cost, const Limits& setting, const Limits& middle) {
  std::vector<double> ms, gb_per_s, gflop_per_s, pct, pct_of_typical;
  metrics::Cost total, last;
  for (const Trial& trial : trials) {
    const double s = seconds(trial.*time);
    if (s <= 0) continue;
    total += trial.*cost;
    last = trial.*cost;
    ms.push_back(1e3 * s);
    gb_per_s.push_back(static_cast<double>((trial.*cost).bytes()) / s / 1e9);
    gflop_per_s.push_back(static_cast<double>((trial.*cost).flops) / s / 1e9);
    if (const auto of = of_ceiling(trial.*cost, s, limits(trial, setting))) pct.push_back(of->pct);
    const auto typical = of_ceiling(trial.*cost, s, typical_limits(trial));
    if (typical && !typical->partial) pct_of_typical.push_back(typical->pct);
  }
  if (ms.empty()) return std::nullopt;
  const auto bytes = static_cast<double>(total.bytes());
  // Trials of one length have one cost, so what binds the middle one binds all, or nearly.
  std::optional<OfCeiling> of = of_ceiling(last, 1e-3 * ms.back(), middle);
  if (pct.empty()) of.reset();
  if (of) {
    of->pct = *metrics::percentile(pct, 0.5);
    if (pct_of_typical.size() == pct.size()) of->pct_of_typical = metrics::percentile(pct_of_typical, 0.5);
  }
  return PhaseFigures{.ms = *metrics::percentile(ms, 0.5),
                      .gb_per_s = *metrics::percentile(gb_per_s, 0.5),
                      .gflop_per_s = *metrics::percentile(gflop_per_s, 0.5),
                      .flops_per_byte = bytes > 0 ? static_cast<double>(total.flops) / bytes : 0,
                      .of_ceiling = of};
}

// Of trials that have parts, whose times are not all 0; so those below.
double median_share(const std::vector<Trial>& trials, Nanoseconds PromptParts::*time) {
  std::vector<double> shares;
  for (const Trial& trial : trials) {
    shares.push_back(seconds((*trial.prompt_parts).*time) / seconds(whole(*trial.prompt_parts)));
  }
  return *metrics::percentile(shares, 0.5);
}

PromptFigures::Part prompt_part(const std::vector<Trial>& trials, Nanoseconds PromptParts::*time,
                                uint64_t (*flops)(const Trial&), std::optional<double> Limits::*peak,
                                const Limits& setting) {
  std::vector<double> pct, pct_of_typical;
  for (const Trial& trial : trials) {
    const auto gops = rate(static_cast<double>(flops(trial)) / 1e9, seconds((*trial.prompt_parts).*time));
    if (!gops) continue;
    if (const auto best = limits(trial, setting).*peak) pct.push_back(100 * *gops / *best);
    if (const auto typical = typical_limits(trial).*peak) pct_of_typical.push_back(100 * *gops / *typical);
  }
  PromptFigures::Part part;
  part.share = median_share(trials, time);
  part.pct = metrics::percentile(pct, 0.5);
  if (pct_of_typical.size() == pct.size()) part.pct_of_typical = metrics::percentile(pct_of_typical, 0.5);
  return part;
}

std::optional<PromptFigures> prompt_figures(std::vector<Trial> trials, const Limits& setting) {
  std::erase_if(trials,
                [](const Trial& t) { return !t.prompt_parts || whole(*t.prompt_parts).count() == 0; });
  if (trials.empty()) return std::nullopt;
  const auto matrix_flops = [](const Trial& t) { return t.prompt_parts->matrix_flops; };
  const auto attention_flops = [](const Trial& t) { return t.prefill_cost.attention_flops; };
  return PromptFigures{
      .matrices = prompt_part(trials, &PromptParts::matrices, matrix_flops, &Limits::gops, setting),
      .attention = prompt_part(trials, &PromptParts::attention, attention_flops, &Limits::fp32_gops, setting),
      .rest = median_share(trials, &PromptParts::rest)};
}

bool spares_bytes(const Trial& trial) {
  const metrics::HeadScreenUse& use = trial.head_screen;
  return (use.passes > 0 && use.read_bytes < use.head_bytes) || trial.decode_cost.spared_bytes > 0;
}

// As if the decode passes had read all weights, in as many bytes as the file has, and of the LM head what it
// is instead of what a screen read, each the mean of all passes, the prompt's last one included.
std::vector<Trial> with_all_bytes(std::vector<Trial> trials) {
  for (Trial& trial : trials) {
    if (!spares_bytes(trial)) continue;
    const metrics::HeadScreenUse& use = trial.head_screen;
    metrics::Cost& cost = trial.decode_cost;
    cost = cost.as_in_file();
    if (use.passes == 0) continue;
    cost.weight_bytes += use.head_bytes / use.passes * trial.steps.size();
    cost.weight_bytes -= std::min(cost.weight_bytes, use.read_bytes / use.passes * trial.steps.size());
  }
  return trials;
}

double mean_bytes_per_token(const std::vector<Trial>& trials) {
  double bytes = 0;
  double passes = 0;
  for (const Trial& trial : trials) {
    bytes += static_cast<double>(trial.decode_cost.bytes());
    passes += static_cast<double>(trial.steps.size());
  }
  return passes > 0 ? bytes / passes : 0;
}

}  // namespace

std::optional<Quartiles> quartiles(std::span<const double> sample) {
  const auto summary = metrics::summarize(sample);
  if (!summary) return std::nullopt;
  return Quartiles{summary->p25, summary->p50, summary->p75, summary->n};
}

std::string_view name(Bound bound) {
  return bound == Bound::kMemory ? "memory" : "arithmetic";
}

std::vector<std::string_view> arithmetics(const backend::DeviceInfo& device, std::string_view dtype) {
  if (dtype == "F32") return {"fp32"};
  if (!device.is_cpu()) return {"bf16"};
  if (dtype == "F16") return {"fp32", "fp16"};
  if (dtype == "BF16") return {"fp32", "bf16"};
  for (const std::string_view whole_bytes : {"Q8_0", "IQ4_NL", "IQ4_XS"}) {
    if (dtype == whole_bytes) return {"fp32", "int8"};
  }
  return {"fp32", "int8", "int8_in_int16"};
}

Limits limits(const Setting& setting) {
  return limits(setting.ceilings, setting.device, setting.dtype);
}

Limits limits(const backend::Ceilings& ceilings, const backend::DeviceInfo& device, std::string_view dtype) {
  const unsigned threads = device.threads;
  Limits limits;
  if (const double read = ceilings.read(threads); read > 0) limits.read_gb_per_s = read;
  for (const std::string_view arithmetic : arithmetics(device, dtype)) {
    const double gops = ceilings.peak(arithmetic, threads);
    if (gops > limits.gops.value_or(0)) {
      limits.gops = gops;
      limits.arithmetic = arithmetic;
    }
  }
  if (const double fp32 = ceilings.peak("fp32", threads); fp32 > 0) limits.fp32_gops = fp32;
  return limits;
}

Limits limits(const std::optional<backend::CeilingsNow>& now, Limits setting) {
  if (now) replace_known(setting, now->read_gb_per_s, now->gops, now->fp32_gops, now->arithmetic);
  return setting;
}

Limits limits(const Trial& trial, const Limits& setting) {
  return limits(trial.ceilings, setting);
}

std::optional<backend::CeilingsNow> mean(const std::optional<backend::CeilingsNow>& before,
                                         const std::optional<backend::CeilingsNow>& after) {
  if (!before || !after) return before ? before : after;
  using Now = backend::CeilingsNow;
  const auto of = [&](double Now::*member) { return mean((*before).*member, (*after).*member); };
  return Now{of(&Now::read_gb_per_s),
             of(&Now::gops),
             before->gops > 0 ? before->arithmetic : after->arithmetic,
             of(&Now::fp32_gops),
             of(&Now::typical_read_gb_per_s),
             of(&Now::typical_gops),
             of(&Now::typical_fp32_gops)};
}

Limits typical_limits(const Trial& trial) {
  Limits limits;
  if (!trial.ceilings) return limits;
  const backend::CeilingsNow& now = *trial.ceilings;
  replace_known(limits, now.typical_read_gb_per_s, now.typical_gops, now.typical_fp32_gops, now.arithmetic);
  return limits;
}

std::optional<OfCeiling> of_ceiling(const metrics::Cost& cost, double measured_s, const Limits& limits) {
  if (measured_s <= 0) return std::nullopt;
  std::optional<double> memory_s;
  std::optional<double> arithmetic_s;
  if (limits.read_gb_per_s) memory_s = static_cast<double>(cost.bytes()) / (*limits.read_gb_per_s * 1e9);
  const bool in_floats =
      limits.gops && limits.fp32_gops && limits.arithmetic != "fp32" && cost.attention_flops > 0;
  if (in_floats) {
    arithmetic_s = static_cast<double>(cost.flops - cost.attention_flops) / (*limits.gops * 1e9) +
                   static_cast<double>(cost.attention_flops) / (*limits.fp32_gops * 1e9);
  } else if (limits.gops) {
    arithmetic_s = static_cast<double>(cost.flops) / (*limits.gops * 1e9);
  }
  if (!memory_s && !arithmetic_s) return std::nullopt;
  OfCeiling of;
  of.bound = memory_s.value_or(-1) >= arithmetic_s.value_or(-1) ? Bound::kMemory : Bound::kArithmetic;
  of.pct = 100.0 * std::max(memory_s.value_or(0), arithmetic_s.value_or(0)) / measured_s;
  of.ceiling = of.bound == Bound::kMemory ? fmt::format("{:.1f} GB/s read", *limits.read_gb_per_s)
                                          : fmt::format("{:.1f} G {}/s", *limits.gops, limits.arithmetic);
  if (of.bound == Bound::kArithmetic && in_floats)
    of.ceiling += fmt::format(", attention {:.1f} G fp32/s", *limits.fp32_gops);
  of.partial = !memory_s || !arithmetic_s;
  return of;
}

std::vector<Trial> trials_of_one_length(const ConfigResult& result) {
  std::vector<Trial> trials;
  for (const Trial& trial : result.trials) {
    if (trial.generated_tokens == result.trials.back().generated_tokens) trials.push_back(trial);
  }
  return trials;
}

std::optional<double> stalled_share(const Trial& trial) {
  constexpr size_t kLeast = 8;  // of which one may be long by chance
  const double whole = sum_of_steps(trial);
  if (trial.steps.size() < kLeast || whole <= 0) return std::nullopt;
  std::vector<double> steps;
  for (const Nanoseconds step : trial.steps) steps.push_back(seconds(step));
  const double middle = *metrics::percentile(steps, 0.5);
  double stalled = 0;
  for (const double step : steps) stalled += step > 2 * middle ? step - middle : 0;
  return stalled / whole;
}

std::optional<Figures> figures(const ConfigResult& result, const Setting& setting) {
  const std::vector<Trial> trials = trials_of_one_length(result);
  if (trials.empty()) return std::nullopt;
  const auto of = [&](const Figure& figure) { return over_trials(trials, figure); };
  const auto generated = [](const Trial& trial) { return static_cast<double>(trial.generated_tokens); };
  const auto prompt = static_cast<double>(result.prompt_tokens);
  const Limits limit = limits(setting);

  Figures f;
  f.generated_tokens = trials.back().generated_tokens;
  f.wall_s = *of([](const Trial& t) { return seconds(t.wall); });
  f.ttft_ms = *of([](const Trial& t) { return 1e3 * seconds(t.ttft); });
  f.prompt_tps = of([&](const Trial& t) { return rate(prompt, seconds(t.prefill)); }).value_or(Quartiles{});
  f.e2e_tps = of([&](const Trial& t) { return rate(generated(t), seconds(t.wall)); }).value_or(Quartiles{});
  f.decode_tps = of([&](const Trial& t) { return rate(generated(t) - 1, sum_of_steps(t)); });
  f.decode_forward_tps = of([&](const Trial& t) { return rate(generated(t) - 1, seconds(t.decode)); });
  f.decode_seed_tps = of([&](const Trial& t) { return rate(generated(t), seconds(t.decode)); });
  f.step_ms = step_summary(trials);
  if (const auto stalled = of(stalled_share)) f.stalled = stalled->p50;
  f.shares = mean_shares(trials);
  f.limits = median_limits(trials, limit);
  f.prefill = phase(trials, &Trial::prefill, &Trial::prefill_cost, limit, f.limits);
  f.decode = phase(trials, &Trial::decode, &Trial::decode_cost, limit, f.limits);
  if (std::any_of(trials.begin(), trials.end(), spares_bytes)) {
    const auto whole = phase(with_all_bytes(trials), &Trial::decode, &Trial::decode_cost, limit, f.limits);
    if (whole) f.decode_of_all_bytes = whole->of_ceiling;
  }
  f.prompt_parts = prompt_figures(trials, limit);
  f.bytes_per_token = mean_bytes_per_token(trials);
  return f;
}

}  // namespace inferno::bench
