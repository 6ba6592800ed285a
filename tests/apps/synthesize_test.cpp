// `inferno synthesize`, and synthetic models where a path is expected.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "support/run_program.h"
#include "support/shared_data.h"

namespace inferno::test {
namespace {

constexpr const char* kSmallest = "synthetic:qwen3-0.6b:q2_k";  // of what a command line can name

Finished synthesize(const std::string& arguments) {
  return run_program("inferno", "synthesize " + arguments);
}

TEST(SynthesizeCommand, WritesAModelAndSaysSizeAndTime) {
  const std::string path = (scratch_dir("synthesize") / "out.gguf").string();
  // The prefix that tells a spec from a path elsewhere is no must.
  const Finished finished = synthesize(fmt::format("qwen3-0.6b:q2_k {}", path));
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(finished.err, path + ": 200.5 MB to write\n") << "before it is written";
  EXPECT_EQ(finished.out.find(path + ": 200.5 MB in "), 0u) << finished.out;
  EXPECT_TRUE(finished.out.ends_with(" s\n")) << finished.out;

  // The file and the spec are one model.
  const auto report = [](const std::string& model) {
    const Finished inspected = run_program("inferno", "inspect --json " + model);
    EXPECT_EQ(inspected.exit_code, 0) << inspected.err;
    auto json = parse_json(inspected.out).value();
    json.erase("file");
    return json;
  };
  EXPECT_EQ(report(path), report(kSmallest));
}

TEST(SynthesizeCommand, RefusesWhatItCannotMakeOrWrite) {
  const auto dir = scratch_dir("synthesize_refused");
  const std::string out = (dir / "x.gguf").string();
  const auto refused = [](const std::string& arguments, int exit_code, const std::string& what) {
    const Finished finished = synthesize(arguments);
    EXPECT_EQ(finished.exit_code, exit_code) << arguments;
    EXPECT_EQ(finished.out, "");
    EXPECT_NE(finished.err.find(what), std::string::npos) << finished.err;
  };
  refused("synthetic:qwen3-0.6b:q9_0 " + out, 2, "weight type: expected one of f32");
  refused("qwen3-0.7b:q8_0 " + out, 2, "did you mean qwen3-0.6b?");
  refused("qwen3-0.6b:q8_0:1:2 " + out, 2, "expected synthetic:PRESET[:TYPE[:SEED]]");
  refused(kSmallest, 2, "OUT");
  refused(fmt::format("{} {}/missing/x.gguf", kSmallest, dir.string()), 1, "missing does not exist; make it");
  EXPECT_TRUE(std::filesystem::is_empty(dir));
}

// As `ulimit -f` sets it: the system says so by a signal first.
TEST(SynthesizeCommand, AFileBeyondTheLimitLeavesNothingBehind) {
  const auto dir = scratch_dir("synthesize_limit");
  struct rlimit limit {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
  const struct rlimit lower = {64 << 20, limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &lower), 0);
  const Finished finished = synthesize("synthetic:qwen3-0.6b:q8_0 " + (dir / "x.gguf").string());
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_TRUE(finished.err.ends_with("x.gguf: cannot write it: File too large\n")) << finished.err;
  EXPECT_TRUE(std::filesystem::is_empty(dir));
}

TEST(SynthesizeCommand, ADiskThatIsTooSmallIsSaidBeforeTheWork) {
  const std::filesystem::path small = "/dev/shm";
  std::error_code error;
  const auto space = std::filesystem::space(small, error);
  if (error || space.available > 60'000'000'000 || ::access(small.c_str(), W_OK) != 0)
    GTEST_SKIP() << small << " is not there, or no small disk";
  const std::string path = (small / fmt::format("inferno-test-{}.gguf", ::getpid())).string();
  const Finished finished = synthesize("llama-3.1-8b:f64 " + path);
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_EQ(finished.out, "");
  EXPECT_NE(finished.err.find(path + ": needs 64.2 GB, its disk has "), std::string::npos) << finished.err;
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(SynthesizeCommand, AnInterruptLeavesNoFileAndSaysSo) {
  const auto dir = scratch_dir("synthesize_interrupted");
  if (std::filesystem::space(dir).available < uint64_t{10} << 30) GTEST_SKIP() << "needs 10 GiB of free disk";
  const std::string path = (dir / "x.gguf").string();
  RunningProgram program("inferno", "synthesize llama-3.1-8b:q8_0 " + path);
  while (std::filesystem::is_empty(dir) && !program.ended()) ::usleep(1000);  // until it writes
  program.send(SIGINT);
  const Finished finished = program.finish();
  EXPECT_EQ(finished.exit_code, 130);
  EXPECT_FALSE(finished.killed);
  EXPECT_NE(finished.err.find("warning: interrupted: " + path + " was not written\n"), std::string::npos)
      << finished.err;
  EXPECT_TRUE(std::filesystem::is_empty(dir));
}

TEST(SyntheticPath, StandsWhereAModelDoes) {
  const Finished tokens = run_program("inferno", fmt::format("tokenize {} ' ab ab'", kSmallest));
  EXPECT_EQ(tokens.exit_code, 0) << tokens.err;
  EXPECT_EQ(std::count(tokens.out.begin(), tokens.out.end(), ' '), 1) << tokens.out;
}

}  // namespace
}  // namespace inferno::test
