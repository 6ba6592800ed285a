#include "apps/generation_report.h"

#include <chrono>
#include <nlohmann/json.hpp>

#include "apps/output.h"
#include "base/text.h"

namespace inferno::apps {
namespace {

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

double milliseconds(metrics::Metrics::Duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

}  // namespace

std::optional<Bandwidth> measure_bandwidth(backend::Backend& backend, const engine::Generated& generated,
                                           const metrics::Metrics& metrics) {
  const auto& passes = metrics.per_forward();
  if (passes.size() < 2) return std::nullopt;
  double decode_ns = 0;
  for (size_t i = 1; i < passes.size(); ++i) decode_ns += static_cast<double>(passes[i].count());
  const auto bytes = static_cast<double>(generated.decode_cost.bytes());
  Bandwidth bandwidth{.bytes_per_token = bytes / static_cast<double>(passes.size() - 1),
                      .gb_per_s = decode_ns > 0 ? bytes / decode_ns : 0.0,
                      .peak_gb_per_s = std::nullopt,
                      .threads = backend.info().threads,
                      .steady = true};
  if (generated.finish_reason == engine::FinishReason::kCancelled) return bandwidth;
  if (const auto ceilings = backend.measure_ceilings()) {
    const double peak = ceilings->read(backend.info().threads);
    if (peak > 0) bandwidth.peak_gb_per_s = peak;
    bandwidth.steady = ceilings->steady();
  } else {
    warn(ceilings.error().message);
  }
  return bandwidth;
}

std::string bandwidth_line(const std::optional<Bandwidth>& bandwidth) {
  if (!bandwidth) return " bytes_per_token: —\n";
  std::string line =
      fmt::format(" bytes_per_token: {}, read at {:.3f} GB/s",
                  human_bytes(static_cast<uint64_t>(bandwidth->bytes_per_token)), bandwidth->gb_per_s);
  if (const auto peak = bandwidth->peak_gb_per_s) {
    line += fmt::format(
        ": {:.1f} % of the {:.1f} GB/s that {} can read from memory{}{}", 100.0 * bandwidth->gb_per_s / *peak,
        *peak, bandwidth->threads == 1 ? "one thread" : fmt::format("{} threads", bandwidth->threads),
        bandwidth->steady ? "" : " (measured on a busy machine; anew: inferno ceilings --fresh)",
        bandwidth->gb_per_s > *peak ? ", so the caches hold much of it" : "");
  }
  return line + "\n";
}

Json metrics_json(const metrics::Metrics& metrics, const std::optional<Bandwidth>& bandwidth) {
  Json json;
  json["time_to_first_token_ms"] = or_null(metrics.time_to_first_token_ms());
  json["decode_tokens_per_second"] = or_null(metrics.decode_tokens_per_second());
  json["per_forward_ms"] = Json::array();
  for (const auto pass : metrics.per_forward()) json["per_forward_ms"].push_back(milliseconds(pass));
  const auto field = [&](double Bandwidth::*member) {
    return bandwidth ? Json((*bandwidth).*member) : Json(nullptr);
  };
  json["bytes_per_token"] = field(&Bandwidth::bytes_per_token);
  json["decode_gb_per_s"] = field(&Bandwidth::gb_per_s);
  const std::optional<double> peak = bandwidth ? bandwidth->peak_gb_per_s : std::nullopt;
  json["read_peak_gb_per_s"] = or_null(peak);
  json["decode_pct_of_peak"] =
      or_null(peak ? std::optional(100.0 * bandwidth->gb_per_s / *peak) : std::nullopt);
  return json;
}

Json serving_json(const metrics::ServingMetrics& serving) {
  Json json = {{"n_requests", serving.n_requests()},
               {"n_cancelled", serving.n_cancelled()},
               {"n_failed", serving.n_failed()},
               {"new_tokens", serving.new_tokens()},
               {"ttps", or_null(serving.ttps())}};
  for (const auto& row : serving.rows()) {
    auto& field = json[std::string(row.name)];
    if (const auto& v = row.values) {
      field = {{"n", v->n},     {"mean", v->mean}, {"min", v->min}, {"p50", v->p50},
               {"p95", v->p95}, {"p99", v->p99},   {"max", v->max}};
    }
  }
  return json;
}

std::string guesses_line(const engine::Generated& generated) {
  const engine::Guesses& g = generated.guesses;
  if (g.drafted == 0) return "";
  return fmt::format(
      " guessed_tokens: {} of {} came, {:.2f} tokens a pass\n", g.accepted, g.drafted,
      static_cast<double>(generated.ids.size()) / static_cast<double>(generated.ids.size() - g.accepted));
}

Json guesses_json(const engine::Guesses& guesses) {
  return {{"drafted", guesses.drafted}, {"accepted", guesses.accepted}};
}

std::string head_screen_line(const metrics::HeadScreenUse& use) {
  if (use.passes == 0) return "";
  return fmt::format(" head_screen: in {} of {} passes, {:.1f} % of the head's bytes read\n", use.screened,
                     use.passes, 100 * use.read_share());
}

Json head_screen_json(const metrics::HeadScreenUse& use) {
  return {{"passes", use.passes},
          {"screened", use.screened},
          {"head_bytes", use.head_bytes},
          {"read_bytes", use.read_bytes}};
}

Json phases_json(const engine::Generated& generated) {
  const auto seconds = [](auto duration) { return metrics::Seconds(duration).count(); };
  const metrics::Phases& p = generated.phases;
  const double all = seconds(p.prefill + p.decode + p.sampling + p.detokenization);
  const auto latency = generated.timeline.e2el();
  return {{"prefill_s", seconds(p.prefill)},
          {"decode_s", seconds(p.decode)},
          {"sampling_s", seconds(p.sampling)},
          {"detokenization_s", seconds(p.detokenization)},
          {"other_s", latency ? Json(latency->count() - all) : nullptr}};
}

}  // namespace inferno::apps
