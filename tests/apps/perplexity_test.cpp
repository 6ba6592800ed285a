// `inferno perplexity`.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "support/run_program.h"
#include "support/shared_data.h"

namespace inferno::test {
namespace {

class PerplexityCommand : public testing::Test {
 protected:
  // A tale that the demo model tells, over and over: what it predicts well.
  void SetUp() override {
    std::ofstream file(text_);
    for (int i = 0; i < 60; ++i) {
      file << "Once upon a time, there was a small girl who lived in a small town. Her name was Molly. She "
              "was "
              "kind and everyone liked her.\n";
    }
  }
  static Finished perplexity(const std::string& arguments, const std::string& input = "") {
    return run_program("inferno", "perplexity " + arguments, input);
  }

  std::filesystem::path dir_ = scratch_dir("perplexity");
  std::string text_ = (dir_ / "tale.txt").string();
};

TEST_F(PerplexityCommand, PrintsPerplexityAndItsError) {
  const Finished finished = perplexity(fmt::format("{} {}", kDemo, text_));
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(finished.err, "") << "progress is for terminals";
  EXPECT_EQ(finished.out.find("perplexity "), 0u) << finished.out;
  EXPECT_TRUE(contains(finished.out, " ± ")) << finished.out;
  EXPECT_TRUE(contains(finished.out, " tokens scored in ")) << finished.out;
  EXPECT_TRUE(contains(finished.out, " chunks of 512, ")) << finished.out;
  const std::string one = perplexity(fmt::format("{} {} --chunks 1", kDemo, text_)).out;
  EXPECT_TRUE(contains(one, " in 1 chunk of 512, ")) << one;
}

TEST_F(PerplexityCommand, ATerminalShowsHowLongItStillTakes) {
  const Finished finished =
      run_in_terminal("inferno", fmt::format("perplexity {} {} --ctx 64", kDemo, text_));
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_TRUE(contains(finished.out, "\rchunk 1 of ")) << finished.out;
  EXPECT_TRUE(contains(finished.out, " tok/s, about ")) << finished.out;
  EXPECT_TRUE(contains(finished.out, " s left")) << finished.out;
}

TEST_F(PerplexityCommand, JsonAndABaseModel) {
  const std::string f32 = (dir_ / "f32.gguf").string();
  ASSERT_EQ(run_program("inferno", fmt::format("quantize {} {} f32", kDemo, f32)).exit_code, 0);
  const auto measure = [&](const std::string& arguments) {
    const Finished finished =
        perplexity(fmt::format("{} {} --json --ctx 128 --chunks 3 {}", kDemo, text_, arguments));
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    return parse_json(finished.out).value();
  };
  const auto json = measure("--kl-base " + f32);
  EXPECT_EQ(json["n_scored"], 3 * 63);
  EXPECT_EQ(json["context"], 128);
  EXPECT_GT(json["perplexity"].get<double>(), 1);
  EXPECT_LT(json["perplexity"].get<double>(), 4) << "a text of its own kind";
  EXPECT_NEAR(json["divergence"]["base_perplexity"].get<double>(), json["perplexity"].get<double>(), 0.05);
  EXPECT_LT(json["divergence"]["kl_mean"].get<double>(), 0.01);
  EXPECT_GT(json["divergence"]["kl_max"].get<double>(), 0) << "F32 weights meet unrounded activations";
  EXPECT_GT(json["divergence"]["same_top"].get<double>(), 0.9);
  // On the oracle the two are one model.
  const auto scalar = measure("--backend scalar --kv-type f32 --kl-base " + f32);
  EXPECT_EQ(scalar["divergence"]["kl_max"], 0);
  EXPECT_EQ(scalar["backend"], "scalar");
  EXPECT_NEAR(scalar["perplexity"].get<double>(), json["perplexity"].get<double>(), 0.05);
}

TEST_F(PerplexityCommand, ATerminalSeesProgress) {
  const Finished finished =
      run_in_terminal("inferno", fmt::format("perplexity {} {} --ctx 128", kDemo, text_), "TERM=xterm");
  EXPECT_EQ(finished.exit_code, 0) << finished.out;
  EXPECT_TRUE(contains(finished.out, "chunk 1 of ")) << finished.out;
}

TEST_F(PerplexityCommand, RefusesWhatItCannotMeasure) {
  const auto refused = [&](const std::string& arguments, int exit_code, const std::string& what,
                           const std::string& input = "") {
    const Finished finished = perplexity(arguments, input);
    EXPECT_EQ(finished.exit_code, exit_code) << arguments;
    EXPECT_EQ(finished.out, "");
    EXPECT_TRUE(contains(finished.err, what)) << finished.err;
  };
  std::ofstream(dir_ / "empty.txt") << "";
  refused(fmt::format("{} {}", kDemo, (dir_ / "empty.txt").string()), 2, "expected a text, found none");
  refused(fmt::format("{} -", kDemo), 2, "expected at least 512, one chunk", "Once upon a time");
  refused(fmt::format("{} {}", kDemo, (dir_ / "absent.txt").string()), 1, "absent.txt");
  refused(fmt::format("{} {}", (dir_ / "absent.gguf").string(), text_), 1, "absent.gguf");
  refused(fmt::format("{} {} --ctx 1024", kDemo, text_), 2, "expected from 4 to 512");
  refused(fmt::format("{} {} --ctx 3", kDemo, text_), 2, "expected a whole number from 4");
  refused(fmt::format("{} {} --chunks 0", kDemo, text_), 2, "expected a whole number from 1");
  refused(fmt::format("{} {} --kl-base ''", kDemo, text_), 2, "--kl-base");
  refused(fmt::format("{} {} --kl-bas x", kDemo, text_), 2, "did you mean --kl-base?");
  refused(std::string(kDemo), 2, "TEXT");
}

}  // namespace
}  // namespace inferno::test
