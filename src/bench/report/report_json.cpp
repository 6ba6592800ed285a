#include "bench/report/report_json.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "backend/ceilings_cache.h"
#include "base/atomic_file.h"
#include "base/text.h"
#include "bench/figures.h"
#include "bench/places.h"
#include "bench/report/json_reader.h"

namespace inferno::bench {
namespace {

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

// 0.8 and not 0.800000011920929, which is the nearest double's way to say 0.8f.
double as_typed(float value) {
  return std::strtod(fmt::format("{}", value).c_str(), nullptr);
}

Json or_null(const std::optional<Quartiles>& quartiles, double Quartiles::*member) {
  return quartiles ? Json((*quartiles).*member) : Json(nullptr);
}

Json quartiles_json(const std::optional<Quartiles>& quartiles) {
  return quartiles ? Json{quartiles->p25, quartiles->p50, quartiles->p75} : Json(nullptr);
}

bool on_gpu(const Setting& setting) {
  return !setting.device.is_cpu();
}

Json gib_or_null(const std::optional<uint64_t>& bytes) {
  return bytes ? Json(static_cast<double>(*bytes) / kGiB) : Json(nullptr);
}

Json cost_json(const metrics::Cost& cost) {
  return {{"weight_bytes", cost.weight_bytes},         {"kv_bytes", cost.kv_bytes},
          {"activation_bytes", cost.activation_bytes}, {"flops", cost.flops},
          {"attention_flops", cost.attention_flops},   {"spared_bytes", cost.spared_bytes}};
}

Json trial_json(const Trial& trial) {
  Json steps = Json::array();
  for (const Nanoseconds step : trial.steps) steps.push_back(step.count());
  return {{"wall_ns", trial.wall.count()},
          {"prefill_ns", trial.prefill.count()},
          {"decode_ns", trial.decode.count()},
          {"sampling_ns", trial.sampling.count()},
          {"detokenization_ns", trial.detokenization.count()},
          {"other_ns", trial.other.count()},
          {"ttft_ns", trial.ttft.count()},
          {"generated_tokens", trial.generated_tokens},
          {"prefill_cost", cost_json(trial.prefill_cost)},
          {"decode_cost", cost_json(trial.decode_cost)},
          {"ceilings", trial.ceilings ? Json{{"read_gb_per_s", trial.ceilings->read_gb_per_s},
                                             {"arithmetic", text_or_null(trial.ceilings->arithmetic)},
                                             {"gops", trial.ceilings->gops},
                                             {"fp32_gops", trial.ceilings->fp32_gops},
                                             {"typical_fp32_gops", trial.ceilings->typical_fp32_gops},
                                             {"typical_read_gb_per_s", trial.ceilings->typical_read_gb_per_s},
                                             {"typical_gops", trial.ceilings->typical_gops}}
                                      : Json(nullptr)},
          {"head_screen", Json{{"passes", trial.head_screen.passes},
                               {"screened", trial.head_screen.screened},
                               {"head_bytes", trial.head_screen.head_bytes},
                               {"read_bytes", trial.head_screen.read_bytes}}},
          {"stolen", or_null(trial.stolen)},
          {"line_trips_ns", trial.line_trips ? Json{{"shortest", trial.line_trips->shortest.count()},
                                                    {"longest", trial.line_trips->longest.count()}}
                                             : Json(nullptr)},
          {"prompt_parts", trial.prompt_parts ? Json{{"matrices_ns", trial.prompt_parts->matrices.count()},
                                                     {"attention_ns", trial.prompt_parts->attention.count()},
                                                     {"rest_ns", trial.prompt_parts->rest.count()},
                                                     {"matrix_flops", trial.prompt_parts->matrix_flops}}
                                              : Json(nullptr)},
          {"step_ns", std::move(steps)}};
}

// The keys of the seed, in its order.
void add_seed_keys(Json& json, const ConfigResult& result, const Setting& setting,
                   const std::optional<Figures>& f) {
  const sampling::SamplingParams& sampling = result.config.sampling;
  json["use_kv_cache"] = setting.use_kv_cache;
  json["config_name"] = result.config.report_name;
  json["model"] = setting.model;
  json["dtype"] = setting.dtype;
  json["device"] = on_gpu(setting) ? "cuda" : "cpu";
  json["gpu_name"] = on_gpu(setting) ? Json(setting.device_name) : Json(nullptr);
  json["prompt_tokens"] = result.prompt_tokens;
  json["generated_tokens"] = f ? Json(f->generated_tokens) : Json(nullptr);
  json["temperature"] = as_typed(sampling.temperature);
  json["top_k"] = sampling.top_k > 0 ? Json(sampling.top_k) : Json(nullptr);
  json["top_p"] = as_typed(sampling.top_p);
  json["repetition_penalty"] = as_typed(sampling.repetition_penalty);
  json["seed"] = sampling.seed;
  json["trials"] = result.trials.size();
  json["ttft_median_ms"] = f ? Json(f->ttft_ms.p50) : Json(nullptr);
  json["prompt_throughput_median_tps"] = f ? Json(f->prompt_tps.p50) : Json(nullptr);
  json["decode_throughput_median_tps"] = f ? or_null(f->decode_seed_tps, &Quartiles::p50) : Json(nullptr);
  json["e2e_throughput_tps"] = f ? Json(f->e2e_tps.p50) : Json(nullptr);
  const auto step = [&](double metrics::Summary::*member) {
    return f && f->step_ms ? Json((*f->step_ms).*member) : Json(nullptr);
  };
  json["per_step_latency_mean_ms"] = step(&metrics::Summary::mean);
  json["per_step_latency_p50_ms"] = step(&metrics::Summary::p50);
  json["per_step_latency_p95_ms"] = step(&metrics::Summary::p95);
  json["per_step_latency_p99_ms"] = step(&metrics::Summary::p99);
  json["per_step_latency_min_ms"] = step(&metrics::Summary::min);
  json["per_step_latency_max_ms"] = step(&metrics::Summary::max);
  json["wall_time_median_s"] = f ? Json(f->wall_s.p50) : Json(nullptr);
  json["cache_memory_mb"] = setting.use_kv_cache ? static_cast<double>(result.cache_bytes) / 1e6 : 0.0;
  // What PyTorch's allocator keeps beyond what is allocated; there is no such here.
  for (const char* key : {"post_load_gpu_reserved_gb", "end_gpu_reserved_gb", "peak_gpu_reserved_gb"})
    json[key] = nullptr;
  json["post_load_gpu_gb"] = gib_or_null(setting.post_load_gpu_bytes);
  json["end_gpu_memory_gb"] = gib_or_null(result.end_gpu_bytes);
  json["peak_gpu_memory_gb"] = gib_or_null(result.peak_gpu_bytes);
  json["engine_version"] = setting.engine_version;
  json["cuda_version"] = text_or_null(setting.device.runtime_version);
  json["timestamp"] = setting.timestamp;
}

Json parts_json(const Shares& shares) {
  return {{"prefill", shares.prefill},
          {"decode", shares.decode},
          {"sampling", shares.sampling},
          {"detokenization", shares.detokenization},
          {"other", shares.other}};
}

Json prompt_parts_json(const PromptFigures& f) {
  return {{"matrices", f.matrices.share},
          {"matrices_pct_of_peak", or_null(f.matrices.pct)},
          {"matrices_pct_of_typical", or_null(f.matrices.pct_of_typical)},
          {"attention", f.attention.share},
          {"attention_pct_of_fp32", or_null(f.attention.pct)},
          {"attention_pct_of_typical", or_null(f.attention.pct_of_typical)},
          {"rest", f.rest}};
}

void add_ceiling_keys(Json& json, const std::string& phase, const std::optional<PhaseFigures>& figures) {
  const std::optional<OfCeiling> of = figures ? figures->of_ceiling : std::nullopt;
  json[phase + "_pct_of_ceiling"] = of ? Json(of->pct) : Json(nullptr);
  json[phase + "_pct_of_typical"] = of ? or_null(of->pct_of_typical) : Json(nullptr);
  json[phase + "_bound"] = of ? Json(name(of->bound)) : Json(nullptr);
  json[phase + "_gb_per_s"] = figures ? Json(figures->gb_per_s) : Json(nullptr);
  json[phase + "_gflop_per_s"] = figures ? Json(figures->gflop_per_s) : Json(nullptr);
}

// The same keys for a row that did not run, with null.
void add_our_figures(Json& json, const Setting& setting, const std::optional<Figures>& f) {
  const auto of = [&](std::optional<Quartiles> Figures::*member) { return f ? (*f).*member : std::nullopt; };
  const auto all = [&](Quartiles Figures::*member) {
    return quartiles_json(f ? std::optional((*f).*member) : std::nullopt);
  };
  add_ceiling_keys(json, "prefill", f ? f->prefill : std::nullopt);
  add_ceiling_keys(json, "decode", f ? f->decode : std::nullopt);
  const std::optional<OfCeiling> whole = f ? f->decode_of_all_bytes : std::nullopt;
  json["decode_pct_of_all_bytes"] = whole ? Json(whole->pct) : Json(nullptr);
  json["decode_pct_of_all_bytes_typical"] = whole ? or_null(whole->pct_of_typical) : Json(nullptr);
  const Limits limit = f ? f->limits : limits(setting);
  json["ceilings"] = {{"read_gb_per_s", or_null(limit.read_gb_per_s)},
                      {"arithmetic", text_or_null(limit.arithmetic)},
                      {"gops", or_null(limit.gops)},
                      {"fp32_gops", or_null(limit.fp32_gops)}};
  json["bytes_per_token"] = f ? Json(f->bytes_per_token) : Json(nullptr);
  json["decode_step_to_step_median_tps"] = or_null(of(&Figures::decode_tps), &Quartiles::p50);
  json["decode_forward_only_median_tps"] = or_null(of(&Figures::decode_forward_tps), &Quartiles::p50);
  json["decode_stalled_share"] = f ? or_null(f->stalled) : Json(nullptr);
  json["parts"] = f ? parts_json(f->shares) : Json(nullptr);
  json["prompt_parts"] = f && f->prompt_parts ? prompt_parts_json(*f->prompt_parts) : Json(nullptr);
  json["quartiles"] = {{"ttft_ms", all(&Figures::ttft_ms)},
                       {"prompt_tps", all(&Figures::prompt_tps)},
                       {"decode_seed_tps", quartiles_json(of(&Figures::decode_seed_tps))},
                       {"decode_step_to_step_tps", quartiles_json(of(&Figures::decode_tps))},
                       {"decode_forward_only_tps", quartiles_json(of(&Figures::decode_forward_tps))},
                       {"e2e_tps", all(&Figures::e2e_tps)},
                       {"wall_s", all(&Figures::wall_s)}};
}

Json place_json(const Place& place, const Setting& setting) {
  Json json = {{"line_trip_ns", place.line_trip.count()}, {"trials", place.n_trials}};
  add_our_figures(json, setting, place.figures);
  return json;
}

Json config_json(const ConfigResult& result, const Setting& setting) {
  const std::optional<Figures> f = figures(result, setting);
  Json json;
  add_seed_keys(json, result, setting, f);
  json["key"] = result.config.key;
  json["purpose"] = result.config.purpose;
  json["min_p"] = as_typed(result.config.sampling.min_p);
  json["asked_prompt_tokens"] = result.config.prompt_tokens;
  json["asked_new_tokens"] = result.config.max_new_tokens;
  json["max_new_tokens"] = result.max_new_tokens;
  json["cut"] = result.cut;
  json["note"] = text_or_null(result.note);
  json["warmup_runs"] = result.warmup_runs;
  json["isa"] = setting.device.isa;
  json["threads"] = setting.device.threads;
  json["kv_type"] = setting.kv_type;
  json["git_revision"] = text_or_null(setting.git_revision);
  json["cache_bytes"] = result.cache_bytes;
  json["peak_host_bytes"] = result.peak_host_bytes;
  json["peak_gpu_bytes"] = or_null(result.peak_gpu_bytes);
  json["end_gpu_bytes"] = or_null(result.end_gpu_bytes);
  add_our_figures(json, setting, f);
  json["disturbed_trials"] = result.disturbed_trials;
  json["places"] = Json::array();
  for (const Place& place : places(result, setting)) json["places"].push_back(place_json(place, setting));
  json["raw_trials"] = Json::array();
  for (const Trial& trial : result.trials) json["raw_trials"].push_back(trial_json(trial));
  return json;
}

Json setting_json(const Report& report) {
  const Setting& setting = report.setting;
  size_t trials = 0;
  int warmup_runs = 0;
  for (const ConfigResult& result : report.results) {
    trials = std::max(trials, result.trials.size());
    warmup_runs = std::max(warmup_runs, result.warmup_runs);
  }
  return {{"use_kv_cache", setting.use_kv_cache},
          {"suite", setting.suite},
          {"model", setting.model},
          {"dtype", setting.dtype},
          {"device", on_gpu(setting) ? "cuda" : "cpu"},
          {"gpu_name", on_gpu(setting) ? Json(setting.device_name) : Json(nullptr)},
          {"trials", trials},
          {"warmup_runs", warmup_runs},
          {"engine_version", setting.engine_version},
          {"cuda_version", text_or_null(setting.device.runtime_version)},
          {"post_load_gpu_gb", gib_or_null(setting.post_load_gpu_bytes)},
          {"post_load_gpu_reserved_gb", nullptr},
          {"timestamp", setting.timestamp},
          {"model_path", setting.model_path},
          {"model_bytes", setting.model_bytes},
          {"post_load_gpu_bytes", or_null(setting.post_load_gpu_bytes)},
          {"kv_type", setting.kv_type},
          {"seed", setting.seed},
          {"backend", setting.device.backend},
          {"device_kind", setting.device.device},
          {"device_name", setting.device_name},
          {"isa", setting.device.isa},
          {"threads", setting.device.threads},
          {"git_revision", text_or_null(setting.git_revision)},
          {"ceilings", backend::ceilings_json(setting.ceilings)}};
}

Status make_folder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder.empty() ? "." : folder, error);
  if (!error) return {};
  return make_error(ErrorCode::kIo, "{}: cannot make the folder: {}", escaped(folder, folder.size()),
                    error.message());
}

}  // namespace

std::string to_json(const Report& report) {
  Json json = setting_json(report);
  json["configs"] = Json::array();
  for (const ConfigResult& result : report.results) {
    json["configs"].push_back(config_json(result, report.setting));
  }
  return json_text(json, 1) + "\n";
}

std::string slug(std::string_view name) {
  constexpr size_t kLongest = 80;
  std::string slug;
  for (const char c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '.' || c == '_' || c == '-';
    if (plain && !(slug.empty() && c == '.')) {
      slug += c;
    } else if (c == '/' && !slug.empty()) {
      slug += '_';
    } else if (!slug.empty() && slug.back() != '-') {
      slug += '-';
    }
  }
  slug.resize(std::min(slug.size(), kLongest));
  while (slug.ends_with('-') || slug.ends_with('_')) slug.pop_back();
  return slug.empty() ? "model" : slug;
}

std::string report_file_name(const Setting& setting) {
  return fmt::format("{}_{}_{}_{}.json", slug(setting.model), slug(setting.dtype), slug(setting.suite),
                     setting.use_kv_cache ? "kvcache" : "nocache");
}

Result<std::string> write_report(const std::string& folder, const Report& report) {
  TRY(make_folder(folder));
  const std::string path = (std::filesystem::path(folder) / report_file_name(report.setting)).string();
  const std::string json = to_json(report);
  TRY(write_file_atomically(path, [&](const AppendFn& append) {
    return append(std::as_bytes(std::span(json.data(), json.size())));
  }));
  return path;
}

}  // namespace inferno::bench
