// --trace and --telemetry-csv, as a user gives them.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "base/json.h"
#include "support/run_program.h"
#include "support/shared_data.h"

namespace inferno::test {
namespace {

TEST(TelemetryOptions, WriteTheStepsOfAGeneration) {
  const auto folder = scratch_dir("telemetry_options");
  const std::string trace = (folder / "trace.json").string();
  const std::string csv = (folder / "spans.csv").string();
  const Finished finished = run_program(
      "inferno", "generate 'Once upon' -n 3 --metrics none --trace " + trace + " --telemetry-csv " + csv);
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  std::set<std::string> stages;
  for (const Json& event : parse_json(read_file(trace)).value()) {
    if (event["ph"] == "X") stages.insert(event["name"]);
  }
  const std::string rows = read_file(csv);
  EXPECT_TRUE(rows.starts_with("stage,elapsed_us\n")) << rows.substr(0, 80);
  for (const char* stage : {"gguf::Open", "model::LoadWeights", "tokenizer::Load", "tokenizer::Encode",
                            "model::Forward", "mlp_step", "sampling::Sample"}) {
    EXPECT_TRUE(stages.contains(stage)) << stage;
    EXPECT_TRUE(contains(rows, std::string("\n") + stage + ",")) << stage;
  }
}

TEST(TelemetryOptions, TheLogShowsTheStagesByTotalTime) {
  const std::string csv = (scratch_dir("telemetry_options") / "spans.csv").string();
  const std::string command = "generate 'Once upon' -n 3 --metrics none --telemetry-csv " + csv;
  const Finished told = run_program("inferno", command, "", "INFERNO_LOG=inferno::telemetry=debug");
  EXPECT_EQ(told.exit_code, 0);
  EXPECT_TRUE(contains(told.err, "total ms")) << told.err;
  EXPECT_TRUE(contains(told.err, "\n  model::Forward ")) << told.err;
  EXPECT_EQ(run_program("inferno", command).err, "");
}

TEST(TelemetryOptions, AnUnwritablePathIsSaidBeforeAnythingElse) {
  for (const char* option : {"--trace", "--telemetry-csv"}) {
    const Finished finished =
        run_program("inferno", std::string("generate missing.gguf Once 3 ") + option + " /dev/null");
    EXPECT_EQ(finished.exit_code, 1);
    EXPECT_EQ(finished.out, "");
    EXPECT_EQ(finished.err,
              "error: /dev/null: expected the name of a regular file to write, found a character device\n");
  }
}

TEST(TelemetryOptions, ARunThatNeverBeganLeavesNoFile) {
  const auto folder = scratch_dir("telemetry_options");
  const Finished finished =
      run_program("inferno", "generate missing.gguf --trace " + (folder / "trace.json").string());
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_TRUE(contains(finished.err, "missing.gguf")) << finished.err;
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST(TelemetryOptions, ASignalLeavesWhatWasRecorded) {
  const std::string trace = (scratch_dir("telemetry_options") / "trace.json").string();
  RunningProgram program("inferno", "generate --no-kv --ignore-eos -n 500 --trace " + trace);
  ASSERT_NE(program.read_some(), "");
  program.send(SIGINT);
  const Finished finished = program.finish();
  EXPECT_EQ(finished.exit_code, 130) << finished.err;
  EXPECT_GT(parse_json(read_file(trace)).value().size(), 40u);
}

TEST(TelemetryOptions, TheEnvironmentAsksForTheNotesFile) {
  const auto folder = scratch_dir("telemetry_options");
  const auto generate = [&](const std::string& value) {
    return run_program("inferno", "generate 'Once upon' -n 1 --metrics none", "",
                       "INFENG_ENABLE_TELEMETRY=" + value + " env --chdir=" + folder.string());
  };
  EXPECT_EQ(generate("0").exit_code, 0);
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  const Finished told = generate("1");
  EXPECT_EQ(told.exit_code, 0);
  // Also where stderr is to tell nothing else.
  EXPECT_TRUE(told.err.starts_with("reports/runtime_metrics.csv: wrote ")) << told.err;
  EXPECT_TRUE(told.err.ends_with(" (INFENG_ENABLE_TELEMETRY)\n")) << told.err;
  EXPECT_TRUE(read_file(folder / "reports" / "runtime_metrics.csv").starts_with("stage,elapsed_us\n"));
  const Finished wrong = run_program("inferno", "generate Once", "", "INFENG_ENABLE_TELEMETRY=yes");
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_EQ(wrong.err, "error: INFENG_ENABLE_TELEMETRY: expected 0 or 1, found \"yes\"\n");
}

}  // namespace
}  // namespace inferno::test
