// Output files, as users name them: what holds for every command that writes one.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <span>
#include <string_view>

#include "support/run_program.h"
#include "support/shared_data.h"

namespace inferno::test {
namespace {

// Their inputs do not exist: whoever loads them first says something else.
constexpr const char* kWriting[] = {
    "generate missing.gguf Once 3 --trace {}",
    "generate missing.gguf Once 3 --telemetry-csv {}",
    "generate missing.gguf Once 3 --metrics-csv {}",
    "logits missing.gguf --prompt-ids 1 -o {}",
    "quantize missing.gguf {} q8_0",
    "synthesize synthetic:qwen3-0.6b:q2_k {}",
    "bench generation --model missing.gguf --no-save --log {}",
    "bench generation --model missing.gguf --no-save --trace {}",
    "bench ladder --model missing.gguf -o {}",
    "bench report missing.json -o {}.html",
};

TEST(OutputFile, AMissingFolderIsSaidBeforeAnythingElse) {
  const auto dir = scratch_dir("output_file");
  const std::string folder = (dir / "no" / "such").string();
  for (const char* command : kWriting) {
    const Finished finished = run_program("inferno", fmt::format(fmt::runtime(command), folder + "/out"));
    EXPECT_EQ(finished.exit_code, 1) << command;
    EXPECT_EQ(finished.out, "") << command;
    const std::string suffix = finished.err.find("out.html") != std::string::npos ? ".html" : "";
    EXPECT_EQ(finished.err,
              fmt::format("error: {0}/out{1}: its folder {0} does not exist; make it (mkdir -p) or give "
                          "another path\n",
                          folder, suffix))
        << command;
  }
  EXPECT_TRUE(std::filesystem::is_empty(dir));
}

TEST(OutputFile, AModelIsOnlyReplacedByAModel) {
  const auto dir = scratch_dir("output_model");
  const std::string model = (dir / "model.gguf").string(), link = (dir / "link.html").string();
  constexpr std::string_view kContent = "GGUF, and what is in it";
  write_file(model, std::as_bytes(std::span(kContent)));
  std::filesystem::create_symlink(model, link);
  for (const std::string& command :
       {"generate missing.gguf Once 3 --trace " + model,
        "generate missing.gguf Once 3 --telemetry-csv " + model,
        "generate missing.gguf Once 3 --metrics-csv " + link,
        "logits missing.gguf --prompt-ids 1 -o " + model, "bench ladder --model missing.gguf -o " + model,
        "bench report missing.json -o " + link}) {
    const Finished finished = run_program("inferno", command);
    EXPECT_EQ(finished.exit_code, 2) << command;
    EXPECT_NE(finished.err.find("found a model, which would be lost"), std::string::npos) << finished.err;
  }
  EXPECT_EQ(read_file(model), kContent);
}

TEST(OutputFile, WhatIsNoFileOfItsOwnIsRefused) {
  const auto dir = scratch_dir("output_refused");
  const std::string out = (dir / "out.txt").string();
  const Finished dash = run_program("inferno", "generate Once 1 --trace -");
  EXPECT_EQ(dash.exit_code, 2);
  EXPECT_NE(dash.err.find("-: expected the name of a file to write"), std::string::npos) << dash.err;
  EXPECT_FALSE(std::filesystem::exists("-"));
  for (const std::string& name : {std::string("/dev/stdout"), out}) {
    const Finished lost = run_program("inferno", "generate Once 1 --metrics-csv " + name + " > " + out);
    EXPECT_EQ(lost.exit_code, 2);
    EXPECT_NE(lost.err.find("where standard output goes"), std::string::npos) << lost.err;
  }
  const Finished same =
      run_program("inferno", fmt::format("generate Once 1 --metrics-csv {0} --trace {0}", out + "2"));
  EXPECT_EQ(same.exit_code, 2);
  EXPECT_NE(same.err.find("--metrics-csv and --trace name one file"), std::string::npos) << same.err;
  // In other words, and neither is there yet.
  const std::string other = (dir / "." / "out.txt3").string();
  const Finished spelled =
      run_program("inferno", fmt::format("generate Once 1 --metrics-csv {} --trace {}", out + "3", other));
  EXPECT_EQ(spelled.exit_code, 2);
  EXPECT_NE(spelled.err.find("--metrics-csv and --trace name one file"), std::string::npos) << spelled.err;
}

TEST(OutputFile, AFolderThatCannotBeIsSaidBeforeAnythingElse) {
  const auto dir = scratch_dir("output_folder");
  std::ofstream(dir / "file") << "x";
  const std::string bench = "bench generation --model missing.gguf --output-dir ";
  const std::string wrong = (dir / "file" / "reports").string();
  const Finished finished = run_program("inferno", bench + wrong);
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_EQ(finished.out, "");
  EXPECT_EQ(finished.err,
            fmt::format("error: {}: cannot write into this folder: Not a directory; give another "
                        "--output-dir, or --no-save\n",
                        wrong));
  // One that is missing is made once there is a report for it.
  const Finished other = run_program("inferno", bench + (dir / "a" / "b").string());
  EXPECT_NE(other.err.find("missing.gguf"), std::string::npos) << other.err;
  EXPECT_FALSE(std::filesystem::exists(dir / "a"));
}

TEST(OutputFile, WhatWasWrittenIsSaidWhereStderrIsToTellAnything) {
  const auto dir = scratch_dir("output_said");
  const std::string trace = (dir / "trace.json").string();
  const std::string csv = (dir / "spans.csv").string();
  const std::string metrics = (dir / "metrics.csv").string();
  const std::string files =
      fmt::format(" --trace {} --telemetry-csv {} --metrics-csv {}", trace, csv, metrics);
  const auto lines = [&](const std::string& arguments) {
    const Finished finished = run_program("inferno", "generate Once -n 2 " + arguments + files);
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    size_t n = 0;
    for (const std::string& path : {trace, csv, metrics}) {
      n += finished.err.find("\n" + path + ": wrote ") != std::string::npos ? 1 : 0;
    }
    return n;
  };
  EXPECT_EQ(lines(""), 3u);
  EXPECT_EQ(lines("--json"), 0u);
  EXPECT_EQ(lines("--metrics none"), 0u);
}

TEST(OutputFile, AnEmptyNameIsWrongUsage) {
  for (const char* command : {"logits missing.gguf --prompt-ids 1 -o ''", "quantize missing.gguf '' q8_0",
                              "synthesize synthetic:qwen3-0.6b:q2_k ''", "bench report missing.json -o ''"}) {
    EXPECT_EQ(run_program("inferno", command).exit_code, 2) << command;
  }
}

}  // namespace
}  // namespace inferno::test
