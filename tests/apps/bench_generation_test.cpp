// inferno bench generation and ladder, as their users call them, on the demo model with lengths of a few
// tokens.
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "backend/backend.h"
#include "base/json.h"
#include "support/raw_gguf.h"
#include "support/run_program.h"
#include "support/shared_data.h"

namespace inferno::test {
namespace {

const std::string kShort = "--prompt-tokens 6 --max-new-tokens 4 --warmup-runs 1 --trials 2 ";

TEST(BenchGeneration, WritesTablesAndAReport) {
  const auto folder = scratch_dir("bench_generation");
  const Finished finished =
      run_program("inferno", "bench generation " + kShort + "--output-dir '" + folder.string() + "/a/b'");
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(finished.err, "") << "progress is for terminals";
  for (const char* part :
       {"### E2E throughput (tok/s)", "### Decode throughput (tok/s)", "### TTFT / prefill (ms)",
        "### KV cache memory (MB)", "### Share of the ceiling that binds (%)",
        "### Where the wall time goes (%)", "| custom |"}) {
    EXPECT_TRUE(contains(finished.out, part)) << part << "\nis not in\n" << finished.out;
  }
  const auto report = parse_json(read_file(folder / "a" / "b" / "demo_Q8_0_custom_kvcache.json")).value();
  const auto& row = report.at("configs").at(0);
  EXPECT_EQ(row.at("generated_tokens"), 4);
  EXPECT_EQ(row.at("prompt_tokens"), 6);
  EXPECT_EQ(row.at("trials"), 2);
  EXPECT_EQ(row.at("seed"), 42);
  EXPECT_GT(row.at("decode_pct_of_ceiling"), 0);
  EXPECT_GT(row.at("prefill_pct_of_ceiling"), 0);
}

TEST(BenchGeneration, AGateThatIsMissedIsTheExitCode) {
  const auto bench = [](const char* gates) {
    return run_program("inferno", fmt::format("bench generation --no-save --json {} {}", kShort, gates));
  };
  EXPECT_EQ(bench("--gate decode=0 --gate rest=100").exit_code, 0);
  const Finished missed = bench("--gate decode=0 --gate decode=1000");
  EXPECT_EQ(missed.exit_code, 1);
  EXPECT_TRUE(parse_json(missed.out).ok()) << "what was measured is shown all the same";
  // A line for each place of the processors, if they were moved between trials.
  EXPECT_TRUE(contains(missed.err, "the gate is missed:\n  custom")) << missed.err;
  EXPECT_TRUE(contains(missed.err, ": decode: ")) << missed.err;
  EXPECT_TRUE(contains(missed.err, "at least 1000 % asked for")) << missed.err;
  EXPECT_FALSE(contains(missed.err, "at least 0 %")) << missed.err;
  const Finished unknown = bench("--gate speed=3");
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_EQ(unknown.out, "");
}

TEST(BenchGeneration, TheCacheTypeIsInTheReportAndItsBytesToo) {
  const auto report = [](const char* type) {
    const Finished finished = run_program(
        "inferno", fmt::format("bench generation --no-save --json --kv-type {} {}", type, kShort));
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    return parse_json(finished.out).value();
  };
  const auto f16 = report("f16");
  const auto q8_0 = report("q8_0");
  EXPECT_EQ(q8_0.at("kv_type"), "Q8_0");
  EXPECT_EQ(q8_0.at("configs").at(0).at("cache_bytes").get<uint64_t>() * 64,
            f16.at("configs").at(0).at("cache_bytes").get<uint64_t>() * 34);
}

TEST(BenchGeneration, TheReportBeforeIsKeptToBeComparedWith) {
  const auto folder = scratch_dir("bench_previous");
  const std::string command = "bench generation " + kShort + "--output-dir '" + folder.string() + "'";
  for (int run = 0; run < 2; ++run) ASSERT_EQ(run_program("inferno", command).exit_code, 0);
  const std::string name = (folder / "demo_Q8_0_custom_kvcache").string();
  const Finished compared =
      run_program("inferno", "bench compare '" + name + ".previous.json' '" + name + ".json' --gate 1000%");
  EXPECT_EQ(compared.exit_code, 0) << compared.err;
}

TEST(BenchGeneration, JsonOnStdoutIsTheReport) {
  const Finished finished = run_program(
      "bench-generation", kShort + "--json --no-save --no-kv-cache --temperature 0.8 --top-k 50 --seed 7");
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const auto row = parse_json(finished.out).value().at("configs").at(0);
  EXPECT_EQ(row.at("use_kv_cache"), false);
  EXPECT_EQ(row.at("seed"), 7);
  EXPECT_EQ(row.at("top_k"), 50);
}

TEST(BenchGeneration, AReportThatCannotBeWrittenLosesNoNumber) {
  const auto folder = scratch_dir("bench_unwritable");
  // Nothing that could be known before: the report that is there cannot be kept under its other name.
  std::ofstream(folder / "demo_Q8_0_custom_kvcache.json") << "before";
  std::filesystem::create_directory(folder / "demo_Q8_0_custom_kvcache.previous.json");
  const Finished finished =
      run_program("inferno", "bench generation " + kShort + "--output-dir '" + folder.string() + "'");
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_TRUE(contains(finished.out, "### E2E throughput")) << finished.out;
  EXPECT_TRUE(contains(finished.err, "cannot be kept")) << finished.err;
  EXPECT_EQ(read_file(folder / "demo_Q8_0_custom_kvcache.json"), "before");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 2);
}

// The type of most weights does not tell a mix from a format for all: they must not be compared as one model.
TEST(BenchGeneration, AMixIsPartOfASyntheticModelsName) {
  const Finished finished =
      run_program("inferno",
                  "bench generation --no-save --json --model synthetic:qwen3-0.6b --dtype Q4_K_M "
                  "--prompt-tokens 2 --max-new-tokens 2 --warmup-runs 1 --trials 1");
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(finished.err, "");
  const auto report = parse_json(finished.out).value();
  EXPECT_EQ(report.at("model"), "synthetic:qwen3-0.6b:q4_k_m");
  EXPECT_EQ(report.at("model_path"), "synthetic:qwen3-0.6b:q4_k_m");
  EXPECT_EQ(report.at("dtype"), "Q4_K");
}

TEST(BenchGeneration, UnknownNamesAreUsageErrorsWithTheNearestRightOne) {
  const auto refused = [](const std::string& arguments, const std::string& part) {
    const Finished finished = run_program("inferno", "bench generation " + arguments);
    EXPECT_EQ(finished.exit_code, 2) << arguments;
    EXPECT_EQ(finished.out, "");
    EXPECT_TRUE(contains(finished.err, part)) << finished.err;
  };
  refused("--suite fulll", "did you mean full?");
  refused("--config shrt", "did you mean short?");
  refused("--model synthetic:qwen3-0.7b:q8_0", "did you mean qwen3-0.6b?");
  refused("--model synthetic:qwen3-0.6b:q8_1", "did you mean");
  refused("--trails 3", "did you mean --trials?");
  refused("--suite quick --prompt-tokens 3", "--suite and --config bring their own lengths");
  refused("--dtype bf16 " + kShort, "--dtype bf16: the weights of the demo model are Q8_0");
  if (!backend::create_backend("cuda")) refused("--device cuda", "cuda");
  const Finished named = run_program("inferno", "bench generation --model qwen3-0.6");
  EXPECT_EQ(named.exit_code, 1) << "no such file";
  EXPECT_TRUE(contains(named.err, "did you mean synthetic:qwen3-0.6b:q8_0 (its shape, random weights)?"))
      << named.err;
}

TEST(BenchGeneration, OnATerminalItShowsWhereItIs) {
  const Finished finished = run_in_terminal("inferno",
                                            "bench generation --no-save --prompt-tokens 6 "
                                            "--max-new-tokens 60 --warmup-runs 1 --trials 2");
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_TRUE(contains(finished.out, "\rcustom (1 of 1)  ")) << finished.out;
  EXPECT_TRUE(contains(finished.out, " of 60 tokens  ")) << finished.out;
  const Finished quiet = run_in_terminal("inferno", "bench generation --no-save " + kShort, "TERM=dumb");
  EXPECT_FALSE(contains(quiet.out, "\rcustom (1 of 1)")) << quiet.out;
}

TEST(BenchGeneration, AModelTooLargeForMemoryIsRefusedBeforeItIsLoaded) {
  RawGguf raw;
  raw.header(1, 1).key_string("general.architecture", "test");
  raw.tensor("huge", {1 << 20, 1 << 20}, static_cast<uint32_t>(DType::kF32), 0).align();
  const auto path = scratch_dir("bench_large") / "large.gguf";
  write_file(path, raw.bytes());
  std::error_code error;
  std::filesystem::resize_file(path, raw.bytes().size() + (uintmax_t{4} << 40), error);
  if (error) GTEST_SKIP() << "no sparse files here: " << error.message();
  for (const std::string command :
       {"bench generation --no-save --model ", "bench ladder --model ", "bench peers --program /bin/sh "}) {
    const Finished finished = run_program("inferno", command + "'" + path.string() + "'");
    EXPECT_EQ(finished.exit_code, 1);
    EXPECT_TRUE(contains(finished.err, "needs 4.4 TB of memory, 4.4 TB of weights and 0 bytes of keys"))
        << finished.err;
  }
}

TEST(BenchGeneration, NothingMeasuredIsAFailure) {
  const Finished finished =
      run_program("inferno", "bench generation --no-save --prompt-tokens 5000 --trials 1");
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_TRUE(contains(finished.err, "nothing was measured: not run: the model's context has 512"))
      << finished.err;
}

TEST(BenchGeneration, WhatContradictsItselfIsRefused) {
  for (const char* arguments : {"--suite full --config short", "--prompt ''", "--max-seconds nan",
                                "--max-seconds 0", "--max-seconds inf", "--previous a.json b.json"}) {
    const Finished finished = run_program("inferno", std::string("bench generation --no-save ") + arguments);
    EXPECT_EQ(finished.exit_code, 2) << arguments << "\n" << finished.err;
    EXPECT_LT(finished.err.size(), 300u) << finished.err;
  }
}

TEST(BenchGeneration, AnInterruptKeepsTheReportThatIsThere) {
  const auto folder = scratch_dir("bench_interrupted");
  run_program("inferno", "ceilings");  // so that the interrupt does not meet their measurement
  const std::string arguments =
      "bench generation --suite quick --trials 50 --output-dir '" + folder.string() + "'";
  RunningProgram program("inferno", arguments + " --log '" + (folder / "log.jsonl").string() + "'");
  // Long enough that it runs: an interrupt before that would show nothing of what follows it.
  std::this_thread::sleep_for(std::chrono::seconds(1));
  program.send(SIGINT);
  const Finished finished = program.finish();
  EXPECT_EQ(finished.exit_code, 130) << finished.err;
  EXPECT_TRUE(contains(finished.err, "interrupted: what was measured is shown")) << finished.err;
  EXPECT_TRUE(std::filesystem::is_empty(folder)) << finished.out;
}

TEST(BenchGeneration, TimeThatRunsOutIsSaid) {
  const Finished finished = run_program("inferno", "bench generation --no-save --max-seconds 1e-9");
  EXPECT_EQ(finished.exit_code, 1) << "nothing was measured";
  EXPECT_EQ(finished.out, "");
  EXPECT_TRUE(contains(finished.err, "nothing was measured: not run: --max-seconds was over before"))
      << finished.err;
}

TEST(BenchGeneration, StagesAreRecordedWhenAsked) {
  const auto csv = scratch_dir("bench_telemetry") / "stages.csv";
  ASSERT_EQ(run_program("inferno",
                        "bench generation --no-save " + kShort + "--telemetry-csv '" + csv.string() + "'")
                .exit_code,
            0);
  std::ifstream in(csv);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  EXPECT_TRUE(text.starts_with("stage,elapsed_us\n"));
  EXPECT_TRUE(contains(text, "\nEngine::Decode,"));
}

TEST(BenchGeneration, TheHistoryGrowsByALineARun) {
  const auto log = scratch_dir("bench_log") / "runs.jsonl";
  for (int run = 1; run <= 2; ++run) {
    ASSERT_EQ(run_program("inferno", "bench generation --no-save " + kShort + "--log '" + log.string() + "'")
                  .exit_code,
              0);
    std::ifstream in(log);
    int lines = 0;
    for (std::string line; std::getline(in, line);) {
      EXPECT_TRUE(parse_json(line).ok());
      ++lines;
    }
    EXPECT_EQ(lines, run);
  }
}

TEST(BenchLadder, HasARowForEachRungAndASentenceForThoseThatAreNotHere) {
  const auto output = scratch_dir("bench_ladder") / "ladder.json";
  const Finished finished = run_program("inferno",
                                        "bench ladder --prompt-tokens 4 --max-new-tokens 3 --trials 1 "
                                        "--warmup-runs 0 -o '" +
                                            output.string() + "'");
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_TRUE(finished.err.starts_with(output.string() + ": wrote ")) << finished.err;
  for (const char* rung : {"scalar", "KV cache", "SIMD", "threads", "quantized", "GPU"}) {
    EXPECT_TRUE(contains(finished.out, std::string("\n| ") + rung)) << rung << "\n" << finished.out;
  }
  const auto rungs = parse_json(read_file(output)).value().at("rungs");
  ASSERT_EQ(rungs.size(), 6u);
  EXPECT_EQ(rungs[0].at("kv"), "none");
  EXPECT_EQ(rungs[0].at("dtype"), "F32");
  EXPECT_EQ(rungs[4].at("dtype"), "Q8_0");
  // The prompt, then each token after the first.
  EXPECT_EQ(rungs[1].at("per_token_ms").size(), 3u);
  EXPECT_EQ(rungs[1].at("generated_tokens"), 3);
  // Four times fewer bytes of weights.
  EXPECT_LT(rungs[4].at("bytes_per_token").get<double>() * 3, rungs[1].at("bytes_per_token").get<double>());
  for (const auto& rung : rungs) {
    EXPECT_TRUE(!rung.at("absent").is_null() || rung.at("decode_tps") > 0) << json_text(rung);
  }
}

}  // namespace
}  // namespace inferno::test
