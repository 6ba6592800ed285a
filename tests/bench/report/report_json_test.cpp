#include "bench/report/report_json.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "bench/report/html.h"
#include "bench/report/json_reader.h"
#include "bench/report/markdown.h"
#include "bench/report/measurements.h"
#include "support/bench_reports.h"
#include "support/shared_data.h"

namespace inferno::test {
namespace {

Json config_of(const bench::Report& report) {
  return parse_json(bench::to_json(report)).value().at("configs").at(0);
}

TEST(ReportJson, HasTheSeedsKeysWithTheSeedsMeaning) {
  const Json config = config_of(make_report());
  for (const char* key : {"use_kv_cache",
                          "config_name",
                          "model",
                          "dtype",
                          "device",
                          "gpu_name",
                          "prompt_tokens",
                          "generated_tokens",
                          "temperature",
                          "top_k",
                          "top_p",
                          "repetition_penalty",
                          "seed",
                          "trials",
                          "ttft_median_ms",
                          "prompt_throughput_median_tps",
                          "decode_throughput_median_tps",
                          "e2e_throughput_tps",
                          "per_step_latency_mean_ms",
                          "per_step_latency_p50_ms",
                          "per_step_latency_p95_ms",
                          "per_step_latency_p99_ms",
                          "per_step_latency_min_ms",
                          "per_step_latency_max_ms",
                          "wall_time_median_s",
                          "cache_memory_mb",
                          "post_load_gpu_gb",
                          "post_load_gpu_reserved_gb",
                          "end_gpu_memory_gb",
                          "end_gpu_reserved_gb",
                          "peak_gpu_memory_gb",
                          "peak_gpu_reserved_gb",
                          "engine_version",
                          "cuda_version",
                          "timestamp"}) {
    EXPECT_TRUE(config.contains(key)) << key;
  }
  EXPECT_EQ(config.at("config_name"), "short-greedy");
  EXPECT_EQ(config.at("device"), "cpu");
  EXPECT_TRUE(config.at("gpu_name").is_null());
  EXPECT_TRUE(config.at("top_k").is_null());
  EXPECT_EQ(config.at("trials"), 3);
  EXPECT_EQ(config.at("generated_tokens"), 64);
  EXPECT_NEAR(config.at("cache_memory_mb").get<double>(), 4.2, 0.01);
  // 64 tokens over 63 passes of 0.935 ms.
  EXPECT_NEAR(config.at("decode_throughput_median_tps").get<double>(), 64 / (63 * 0.935e-3), 1e-6);
  EXPECT_NEAR(config.at("per_step_latency_p50_ms").get<double>(), 1.1, 1e-9);
}

TEST(ReportJson, HasOurKeys) {
  const Json config = config_of(make_report());
  for (const char* key :
       {"isa", "threads", "ceilings", "prefill_pct_of_ceiling", "decode_pct_of_ceiling", "decode_gb_per_s",
        "git_revision", "quartiles", "kv_type", "parts", "prompt_parts", "bytes_per_token", "raw_trials",
        "decode_stalled_share", "decode_pct_of_all_bytes", "decode_pct_of_all_bytes_typical"}) {
    EXPECT_TRUE(config.contains(key)) << key;
  }
  double sum = 0;
  for (const auto& [part, share] : config.at("parts").items()) sum += share.get<double>();
  EXPECT_NEAR(sum, 1, 1e-12);
  EXPECT_EQ(config.at("ceilings").at("arithmetic"), "int8");
  EXPECT_EQ(config.at("raw_trials").size(), 3u);
  EXPECT_EQ(config.at("decode_stalled_share"), 0.0);
}

TEST(ReportJson, TellsTrialsByWhereTheHostHadTheProcessors) {
  bench::Report report = make_report();
  EXPECT_EQ(config_of(report).at("places"), Json::array());
  report.results[0] = make_result_of_two_places("short");
  const Json places = config_of(report).at("places");
  ASSERT_EQ(places.size(), 2u);
  EXPECT_EQ(places[0].at("line_trip_ns"), 60);
  EXPECT_EQ(places[0].at("trials"), 2);
  EXPECT_EQ(places[1].at("line_trip_ns"), 320);
  EXPECT_EQ(places[1].at("ceilings").at("read_gb_per_s"), 2);
  EXPECT_DOUBLE_EQ(places[0].at("decode_pct_of_ceiling").get<double>(),
                   2 * places[1].at("decode_pct_of_ceiling").get<double>());
}

TEST(ReportJson, ARowThatDidNotRunHasTheSameKeys) {
  const auto keys = [](const Json& config) {
    std::vector<std::string> all;
    for (const auto& [key, value] : config.items()) all.push_back(key);
    return all;
  };
  bench::Report report = make_report();
  const Json ran = config_of(report);
  report.results[0].trials.clear();
  const Json absent = config_of(report);
  EXPECT_EQ(keys(absent), keys(ran));
  EXPECT_EQ(keys(absent.at("quartiles")), keys(ran.at("quartiles")));
  EXPECT_EQ(absent.at("ceilings"), ran.at("ceilings"));
  for (const char* key : {"parts", "bytes_per_token", "decode_bound", "decode_step_to_step_median_tps",
                          "decode_stalled_share"}) {
    EXPECT_TRUE(absent.at(key).is_null()) << key;
  }
  EXPECT_TRUE(absent.at("quartiles").at("e2e_tps").is_null());
}

TEST(ReportJson, SampledConfigurationsAreTyped) {
  bench::Report report = make_report();
  report.results = {make_result("full-pipe", {microseconds(1000)})};
  const Json config = config_of(report);
  EXPECT_EQ(json_text(config.at("temperature")), "0.8");
  EXPECT_EQ(config.at("top_k"), 50);
  EXPECT_EQ(json_text(config.at("top_p")), "0.9");
  EXPECT_EQ(json_text(config.at("repetition_penalty")), "1.1");
}

TEST(ReportJson, WhatIsReadBackRendersTheSame) {
  bench::Report report = make_report();
  report.setting.use_kv_cache = false;
  report.setting.git_revision = "";
  report.results[1].cut = true;
  report.results[1].note = "cut <for> a reason";
  report.results[1].peak_gpu_bytes = 5;
  report.results[1].end_gpu_bytes = 4;
  report.setting.post_load_gpu_bytes = 3;
  report.setting.device.runtime_version = "13.0";
  report.setting.ceilings.copy_gb_per_s = 4200.5;
  for (bench::Trial& trial : report.results[1].trials) trial.head_screen = {64, 60, 640'000, 320'000};
  report.results[1].trials[1].ceilings = {33.5, 901, "int8"};
  report.results[1].trials[1].ceilings->typical_read_gb_per_s = 30.5;
  report.results[1].trials[1].ceilings->typical_gops = 800;
  report.results[1].trials[1].ceilings->fp32_gops = 350;
  report.results[1].trials[1].ceilings->typical_fp32_gops = 340;
  report.results[1].trials[1].prefill_cost.attention_flops = 7;
  report.results[1].trials[1].decode_cost.spared_bytes = 9;
  report.results[1].trials[1].stolen = 0.25;
  report.results[1].trials[1].line_trips =
      bench::Trial::LineTrips{bench::Nanoseconds(60), bench::Nanoseconds(320)};
  report.results[1].trials[1].prompt_parts = {milliseconds(8), milliseconds(1), milliseconds(3), 500};
  report.results[1].disturbed_trials = 3;
  report.results.push_back(make_result("full-pipe", {}));
  const std::string text = bench::to_json(report);
  const auto again = bench::report_from_json(text);
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(bench::to_json(*again), text);
  EXPECT_EQ(bench::markdown({&*again, 1}), bench::markdown({&report, 1}));
  EXPECT_EQ(bench::html({{*again}, {}, {}, {}}), bench::html({{report}, {}, {}, {}}));
}

TEST(ReportJson, OfADeviceHasItsNameItsMemoryAndItsRuntime) {
  bench::Report report = make_report();
  report.setting.device = {.backend = "cuda", .device = "NVIDIA H200", .isa = "sm_90"};
  report.setting.device.runtime_version = "13.0";
  report.setting.device_name = "NVIDIA H200";
  report.setting.post_load_gpu_bytes = uint64_t{1} << 30;
  report.results[0].peak_gpu_bytes = uint64_t{3} << 30;
  report.results[0].end_gpu_bytes = uint64_t{2} << 30;
  const Json config = config_of(report);
  EXPECT_EQ(config.at("device"), "cuda");
  EXPECT_EQ(config.at("gpu_name"), "NVIDIA H200");
  EXPECT_EQ(config.at("cuda_version"), "13.0");
  EXPECT_EQ(config.at("post_load_gpu_gb"), 1.0);
  EXPECT_EQ(config.at("peak_gpu_memory_gb"), 3.0);
  EXPECT_EQ(config.at("end_gpu_memory_gb"), 2.0);
  EXPECT_TRUE(config.at("peak_gpu_reserved_gb").is_null());
}

TEST(ReportJson, HasThePartsOfAPromptWhereTheyAreKnown) {
  bench::Report report = make_report();
  EXPECT_TRUE(config_of(report).at("prompt_parts").is_null());
  for (bench::Trial& trial : report.results[0].trials)
    trial.prompt_parts = {milliseconds(6), milliseconds(3), milliseconds(1), 900'000'000};
  const Json config = config_of(report);
  const Json& parts = config.at("prompt_parts");
  EXPECT_DOUBLE_EQ(parts.at("matrices").get<double>(), 0.6);
  EXPECT_DOUBLE_EQ(parts.at("matrices_pct_of_peak").get<double>(), 50);
  EXPECT_TRUE(parts.at("matrices_pct_of_typical").is_null());
  EXPECT_DOUBLE_EQ(parts.at("attention").get<double>(), 0.3);
  EXPECT_TRUE(parts.at("attention_pct_of_fp32").is_null()) << "no operations of attention were counted";
  EXPECT_DOUBLE_EQ(parts.at("rest").get<double>(), 0.1);
  EXPECT_EQ(config.at("raw_trials").at(0).at("prompt_parts").at("rest_ns"), 1'000'000);
  // A report from before they were measured.
  Json old = parse_json(bench::to_json(report)).value();
  for (Json& trial : old.at("configs").at(0).at("raw_trials")) trial.erase("prompt_parts");
  const auto read = bench::report_from_json(json_text(old));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_FALSE(read->results[0].trials[0].prompt_parts);
}

TEST(ReportJson, ErrorsNameTheFieldAndWhatWasFound) {
  const auto refusal = [](const char* pointer, const Json& value) {
    Json report = parse_json(bench::to_json(make_report())).value();
    report[Json::json_pointer(pointer)] = value;
    const auto read = bench::report_from_json(json_text(report));
    EXPECT_FALSE(read.ok()) << pointer;
    return read.ok() ? "" : read.error().message;
  };
  EXPECT_EQ(refusal("/model", 7), "model: expected a string, found 7");
  EXPECT_EQ(refusal("/use_kv_cache", nullptr), "use_kv_cache: expected true or false, found nothing");
  EXPECT_EQ(refusal("/configs", 3), "configs: expected an array of objects, found 3");
  EXPECT_EQ(refusal("/configs/1", "x"), "configs[1]: expected an object, found \"x\"");
  EXPECT_EQ(refusal("/configs/1/raw_trials/0/generated_tokens", 3),
            "configs[1].raw_trials[0].generated_tokens: expected one more than there are steps, found 3");
  EXPECT_EQ(refusal("/configs/0/raw_trials/2/other_ns", 1).substr(0, 64),
            "configs[0].raw_trials[2].wall_ns: expected the sum of the five p");
  EXPECT_NE(refusal("/configs/0/raw_trials/0/wall_ns", -1), "");
  EXPECT_NE(refusal("/configs/0/raw_trials/0/wall_ns", 1.5), "");
  EXPECT_NE(refusal("/configs/0/raw_trials/0/step_ns/5", uint64_t{1} << 63), "");
  EXPECT_NE(refusal("/ceilings/clock_ghz", 1e300), "");
  EXPECT_EQ(refusal("/ceilings/peaks/0/gops", -1e30),
            "ceilings.peaks[0].gops: expected a number from 0 to 1e+15, found -1e+30");
  EXPECT_NE(refusal("/configs/0/temperature", -1), "");
  EXPECT_NE(refusal("/ceilings/read_gb_per_s", Json::array({"fast"})), "");
}

TEST(ReportJson, WhateverReplacesAnyValueIsReadOrRefused) {
  bench::Report whole = {make_setting(), {make_result("short", {microseconds(900)})}};
  whole.results[0].trials[0].head_screen = {64, 60, 640'000, 320'000};
  whole.results[0].trials[0].prompt_parts = {milliseconds(8), milliseconds(1), milliseconds(3), 500};
  const Json report = parse_json(bench::to_json(whole)).value();
  const Json flat = report.flatten();
  for (const auto& [pointer, value] : flat.items()) {
    if (pointer.find("/step_ns/") != std::string::npos && pointer.back() != '3') continue;
    for (const Json& hostile : {Json(nullptr), Json(-1), Json("\x1b[2J"), Json::object(), Json::array({1}),
                                Json(1e30), Json(uint64_t{1} << 60), Json(true)}) {
      Json changed = report;
      changed[Json::json_pointer(pointer)] = hostile;
      const auto read = bench::report_from_json(json_text(changed));
      if (!read.ok()) {
        EXPECT_EQ(read.error().code, ErrorCode::kInvalidFile);
        EXPECT_EQ(read.error().message.find('\x1b'), std::string::npos);
        continue;
      }
      EXPECT_FALSE(bench::markdown({&*read, 1}).empty());
      EXPECT_EQ(bench::html({{*read}, {}, {}, {}}).find('\x1b'), std::string::npos);
    }
  }
}

TEST(ReportJson, AnUnknownArithmeticIsRefused) {
  bench::Report report = make_report();
  report.results[0].trials[0].ceilings = {33.5, 901, "<b>\x1b[2J"};
  const auto read = bench::report_from_json(bench::to_json(report));
  ASSERT_FALSE(read.ok());
  EXPECT_NE(
      read.error().message.find("ceilings.arithmetic: expected fp32, bf16, fp16, int8 or int8_in_int16"),
      std::string::npos)
      << read.error().message;
}

TEST(ReportJson, WhatIsNoJsonIsRefused) {
  for (const std::string text : {"", "{", "[]", "null", "{\"configs\":1e999}", "\xff\xfe", "{} {}"}) {
    const auto read = bench::report_from_json(text);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_EQ(read.error().code, ErrorCode::kInvalidFile);
  }
  EXPECT_NE(bench::report_from_json(std::string(100'000, '[')).error().message.find("nested"),
            std::string::npos);
  EXPECT_NE(bench::report_from_json(std::string((64u << 20) + 1, ' ')).error().message.find("at most"),
            std::string::npos);
}

TEST(ReportJson, FileNamesAreSlugs) {
  bench::Setting setting = make_setting("org/Name-1B");
  EXPECT_EQ(bench::report_file_name(setting), "org_Name-1B_Q8_0_quick_kvcache.json");
  setting.use_kv_cache = false;
  setting.model = "../../etc/my model\n";
  EXPECT_EQ(bench::report_file_name(setting), "etc_my-model_Q8_0_quick_nocache.json");
  EXPECT_EQ(bench::slug(""), "model");
  EXPECT_EQ(bench::slug("..."), "model");
  EXPECT_EQ(bench::slug(std::string(1000, 'a')).size(), 80u);
}

TEST(ReportJson, IsWrittenWholeIntoAFolderThatIsMade) {
  const auto dir = scratch_dir("report_json");
  const auto path = bench::write_report((dir / "a" / "b").string(), make_report());
  ASSERT_TRUE(path.ok()) << path.error().message;
  EXPECT_EQ(*path, (dir / "a" / "b" / "tiny-1b_Q8_0_quick_kvcache.json").string());
  EXPECT_EQ(read_file(*path), bench::to_json(make_report()));
  EXPECT_TRUE(bench::read_report(*path).ok());
  std::ofstream(dir / "file") << "x";
  const auto refused = bench::write_report((dir / "file").string(), make_report());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kIo);
  EXPECT_NE(refused.error().message.find((dir / "file").string()), std::string::npos);
}

}  // namespace
}  // namespace inferno::test
