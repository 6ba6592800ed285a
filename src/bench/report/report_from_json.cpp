#include <algorithm>
#include <nlohmann/json.hpp>

#include "bench/report/json_reader.h"
#include "bench/report/report_json.h"

namespace inferno::bench {
namespace {

constexpr uint64_t kMaxTokens = uint64_t{1} << 40;

Nanoseconds duration(JsonReader& json, const char* key) {
  return Nanoseconds(json.whole(key));
}

int64_t tokens(JsonReader& json, const char* key) {
  return static_cast<int64_t>(json.whole(key, kMaxTokens));
}

float single(JsonReader& json, const char* key) {
  return static_cast<float>(json.number(key));
}

metrics::Cost read_cost(JsonReader json) {
  metrics::Cost cost = {.weight_bytes = json.whole("weight_bytes"),
                        .kv_bytes = json.whole("kv_bytes"),
                        .activation_bytes = json.whole("activation_bytes"),
                        .flops = json.whole("flops")};
  cost.attention_flops = json.optional_whole("attention_flops", cost.flops).value_or(0);
  cost.spared_bytes = json.optional_whole("spared_bytes").value_or(0);  // older reports lack it
  return cost;
}

Trial read_trial(JsonReader json) {
  Trial trial;
  trial.wall = duration(json, "wall_ns");
  trial.prefill = duration(json, "prefill_ns");
  trial.decode = duration(json, "decode_ns");
  trial.sampling = duration(json, "sampling_ns");
  trial.detokenization = duration(json, "detokenization_ns");
  trial.other = duration(json, "other_ns");
  trial.ttft = duration(json, "ttft_ns");
  trial.generated_tokens = tokens(json, "generated_tokens");
  trial.prefill_cost = read_cost(json.object("prefill_cost"));
  trial.decode_cost = read_cost(json.object("decode_cost"));
  if (json.has("ceilings")) {  // older reports lack them
    JsonReader ceilings = json.object("ceilings");
    trial.ceilings = {ceilings.number("read_gb_per_s"), ceilings.number("gops"),
                      ceilings.optional_text("arithmetic").value_or("")};
    if (ceilings.has("typical_gops")) {
      trial.ceilings->typical_read_gb_per_s = ceilings.number("typical_read_gb_per_s");
      trial.ceilings->typical_gops = ceilings.number("typical_gops");
      trial.ceilings->fp32_gops = ceilings.number("fp32_gops");
      trial.ceilings->typical_fp32_gops = ceilings.number("typical_fp32_gops");
    }
    const auto known = {"", "fp32", "bf16", "fp16", "int8", "int8_in_int16"};  // it is shown as it stands
    ceilings.expect(std::find(known.begin(), known.end(), trial.ceilings->arithmetic) != known.end(),
                    "arithmetic", "fp32, bf16, fp16, int8 or int8_in_int16");
  }
  if (json.has("head_screen")) {  // older reports lack it
    JsonReader screen = json.object("head_screen");
    trial.head_screen = {.passes = screen.whole("passes"),
                         .screened = screen.whole("screened"),
                         .head_bytes = screen.whole("head_bytes"),
                         .read_bytes = screen.whole("read_bytes")};
  }
  trial.stolen = json.optional_number("stolen");
  if (json.has("line_trips_ns")) {  // older reports lack them
    JsonReader trips = json.object("line_trips_ns");
    trial.line_trips = {duration(trips, "shortest"), duration(trips, "longest")};
  }
  if (json.has("prompt_parts")) {  // older reports lack them, and those of some backends
    JsonReader parts = json.object("prompt_parts");
    trial.prompt_parts = {.matrices = duration(parts, "matrices_ns"),
                          .attention = duration(parts, "attention_ns"),
                          .rest = duration(parts, "rest_ns"),
                          .matrix_flops = parts.whole("matrix_flops")};
  }
  for (const uint64_t ns : json.wholes("step_ns")) trial.steps.emplace_back(ns);
  json.expect(
      trial.prefill + trial.decode + trial.sampling + trial.detokenization + trial.other == trial.wall,
      "wall_ns", "the sum of the five parts");
  json.expect(trial.generated_tokens == static_cast<int64_t>(trial.steps.size()) + 1, "generated_tokens",
              "one more than there are steps");
  return trial;
}

sampling::SamplingParams read_sampling(JsonReader& json) {
  constexpr uint64_t kMaxTopK = uint64_t{1} << 30;
  return {.temperature = single(json, "temperature"),
          .top_k = static_cast<int32_t>(json.optional_whole("top_k", kMaxTopK).value_or(0)),
          .top_p = single(json, "top_p"),
          .min_p = static_cast<float>(json.optional_number("min_p").value_or(0)),
          .repetition_penalty = single(json, "repetition_penalty"),
          .seed = json.whole("seed", std::numeric_limits<uint64_t>::max())};
}

ConfigResult read_config(JsonReader json) {
  ConfigResult result;
  result.config.key = json.text("key");
  result.config.report_name = json.text("config_name");
  result.config.purpose = json.text("purpose");
  result.config.prompt_tokens = tokens(json, "asked_prompt_tokens");
  result.config.max_new_tokens = tokens(json, "asked_new_tokens");
  result.config.sampling = read_sampling(json);
  result.prompt_tokens = tokens(json, "prompt_tokens");
  result.max_new_tokens = tokens(json, "max_new_tokens");
  result.cut = json.flag("cut");
  result.note = json.optional_text("note").value_or("");
  result.warmup_runs = static_cast<int>(json.whole("warmup_runs", 1 << 20));
  result.cache_bytes = json.whole("cache_bytes");
  result.peak_host_bytes = json.whole("peak_host_bytes");
  result.peak_gpu_bytes = json.optional_whole("peak_gpu_bytes");
  result.end_gpu_bytes = json.optional_whole("end_gpu_bytes");  // older reports lack it
  result.disturbed_trials = static_cast<int>(json.optional_whole("disturbed_trials", 1 << 20).value_or(0));
  for (JsonReader& trial : json.objects("raw_trials")) result.trials.push_back(read_trial(trial));
  return result;
}

backend::Ceilings read_ceilings(JsonReader json) {
  backend::Ceilings ceilings;
  ceilings.read_gb_per_s = json.numbers("read_gb_per_s");
  for (JsonReader& peak : json.objects("peaks")) {
    ceilings.peaks.push_back({.arithmetic = peak.text("arithmetic"),
                              .isa = peak.text("isa"),
                              .threads = static_cast<unsigned>(peak.whole("threads", 1 << 20)),
                              .gops = peak.number("gops")});
  }
  ceilings.copy_gb_per_s = json.optional_number("copy_gb_per_s").value_or(0);  // devices alone have it
  ceilings.clock_ghz = json.number("clock_ghz");
  ceilings.steadiness = json.optional_number("steadiness").value_or(1);  // older reports lack it
  ceilings.measured_at = json.text("measured_at");
  return ceilings;
}

Setting read_setting(JsonReader& json) {
  Setting setting;
  setting.model = json.text("model");
  setting.model_path = json.text("model_path");
  setting.model_bytes = json.whole("model_bytes");
  setting.dtype = json.text("dtype");
  setting.kv_type = json.text("kv_type");
  setting.use_kv_cache = json.flag("use_kv_cache");
  setting.suite = json.text("suite");
  setting.seed = json.whole("seed", std::numeric_limits<uint64_t>::max());
  setting.device.backend = json.text("backend");
  setting.device.device = json.text("device_kind");
  setting.device.isa = json.text("isa");
  setting.device.threads = static_cast<unsigned>(json.whole("threads", 1 << 20));
  setting.device_name = json.text("device_name");
  setting.device.runtime_version = json.optional_text("cuda_version").value_or("");
  setting.post_load_gpu_bytes = json.optional_whole("post_load_gpu_bytes");  // older reports lack it
  setting.ceilings = read_ceilings(json.object("ceilings"));
  setting.engine_version = json.text("engine_version");
  setting.git_revision = json.optional_text("git_revision").value_or("");
  setting.timestamp = json.text("timestamp");
  return setting;
}

}  // namespace

Result<Report> report_from_json(std::string_view text) {
  TRY_ASSIGN(const Json json, parse_json(text));
  JsonReader reader(json);
  Report report;
  report.setting = read_setting(reader);
  for (JsonReader& config : reader.objects("configs")) report.results.push_back(read_config(config));
  TRY(reader.status());
  return report;
}

}  // namespace inferno::bench
