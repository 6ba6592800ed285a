// Reports of the generation benchmark made by hand: times that a test knows, never measured ones.
#pragma once

#include <vector>

#include "bench/ladder_rows.h"
#include "bench/result.h"

namespace inferno::test {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// A trial of which every pass takes `step` but the prefill, ten times that; a tenth of each step is
// sampling, a twentieth detokenization; a millisecond is left over.
inline bench::Trial make_trial(int64_t prompt_tokens, int64_t generated_tokens, microseconds step) {
  const auto tokens = static_cast<size_t>(generated_tokens);
  bench::Trial trial;
  trial.generated_tokens = generated_tokens;
  trial.prefill = 10 * step;
  trial.sampling = step / 10 * generated_tokens;
  trial.detokenization = step / 20 * generated_tokens;
  trial.decode = (step - step / 10 - step / 20) * (generated_tokens - 1);
  trial.other = milliseconds(1);
  trial.wall = trial.prefill + trial.decode + trial.sampling + trial.detokenization + trial.other;
  trial.ttft = trial.prefill + step / 10;
  trial.steps.assign(tokens - 1, step);
  const auto prompt = static_cast<uint64_t>(prompt_tokens);
  trial.prefill_cost = {1'000'000, 2'000 * prompt, 4'000 * prompt, 2'000'000 * prompt};
  trial.decode_cost = {1'000'000 * (tokens - 1), 20'000 * tokens, 4'000 * tokens, 2'000'000 * (tokens - 1)};
  return trial;
}

inline bench::ConfigResult make_result(const char* key, const std::vector<microseconds>& steps) {
  bench::ConfigResult result;
  result.config = bench::find_config(key).value();
  result.prompt_tokens = result.config.prompt_tokens;
  result.max_new_tokens = result.config.max_new_tokens;
  result.warmup_runs = 2;
  result.cache_bytes = 4'194'304;
  result.peak_host_bytes = uint64_t{3} << 30;
  for (const microseconds step : steps) {
    result.trials.push_back(make_trial(result.prompt_tokens, result.max_new_tokens, step));
  }
  return result;
}

// Two trials where a cache line takes 60 ns from one processor to another and back, and one where it takes
// 320: as fast, but held against twice the memory.
inline bench::ConfigResult make_result_of_two_places(const char* key) {
  bench::ConfigResult result = make_result(key, std::vector(3, microseconds(1000)));
  for (bench::Trial& trial : result.trials) {
    const bool is_last = &trial == &result.trials.back();
    const std::chrono::nanoseconds trip(is_last ? 320 : 60);
    trial.line_trips = {trip, trip};
    trial.ceilings = {.read_gb_per_s = is_last ? 2.0 : 1.0, .gops = 300, .arithmetic = "int8"};
  }
  return result;
}

// 40 GB/s and 300 G int8/s with its 2 threads.
inline bench::Setting make_setting(const std::string& model = "tiny-1b") {
  bench::Setting setting;
  setting.model = model;
  setting.model_path = "synthetic:" + model + ":q8_0";
  setting.dtype = "Q8_0";
  setting.kv_type = "F16";
  setting.suite = "quick";
  setting.device = {.backend = "parallel", .device = "CPU", .isa = "avx2", .threads = 2};
  setting.device_name = "A <processor> & more";
  setting.ceilings.read_gb_per_s = {25, 40};
  setting.ceilings.peaks = {{"fp32", "avx2", 2, 100}, {"int8", "avx2", 2, 300}};
  setting.ceilings.clock_ghz = 3;
  setting.engine_version = "0.1.0";
  setting.git_revision = "0123abc";
  setting.timestamp = "2026-01-02T03:04:05Z";
  setting.model_bytes = 1'000'000;
  return setting;
}

inline bench::Report make_report(const std::string& model = "tiny-1b",
                                 const std::vector<microseconds>& steps = {
                                     microseconds(1000), microseconds(1100), microseconds(1200)}) {
  return {make_setting(model), {make_result("short", steps), make_result("medium", steps)}};
}

inline bench::Ladder make_ladder() {
  bench::Ladder ladder{.model = "tiny-1b",
                       .device_name = "A <processor> & more",
                       .threads = 2,
                       .prompt_tokens = 64,
                       .generated_tokens = 4,
                       .timestamp = "2026-01-02T03:04:05Z",
                       .git_revision = "0123abc",
                       .rows = {}};
  const auto rung = [&](const char* name, const char* backend, const char* dtype, const char* kv, double ms) {
    ladder.rows.push_back({.name = name,
                           .backend = backend,
                           .dtype = dtype,
                           .kv = kv,
                           .absent = "",
                           .note = "",
                           .bytes_per_token = 4e9,
                           .ttft_ms = 10 * ms,
                           .decode_tps = 1000 / ms,
                           .generated_tokens = 4,
                           .per_token_ms = {10 * ms, ms, 1.1 * ms, ms},
                           .bound = "memory",
                           .pct_of_ceiling = 100 / ms});
  };
  rung("scalar", "scalar", "F32", "none", 8000);
  rung("KV cache", "scalar", "F32", "F16", 2000);
  ladder.rows.push_back({.name = "SIMD",
                         .backend = "simd",
                         .dtype = "F32",
                         .kv = "F16",
                         .absent = "not in this build: no kernels for this CPU",
                         .note = "",
                         .per_token_ms = {},
                         .bound = "",
                         .pct_of_ceiling = std::nullopt});
  rung("Q8_0", "parallel", "Q8_0", "F16", 50);
  return ladder;
}

}  // namespace inferno::test
