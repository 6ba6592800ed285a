// `inferno quantize`.
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "support/bare_model.h"
#include "support/run_program.h"
#include "support/shared_data.h"

namespace inferno::test {
namespace {

class QuantizeCommand : public testing::Test {
 protected:
  static Finished quantize(const std::string& arguments, const std::string& environment = "") {
    return run_program("inferno", "quantize " + arguments, "", environment);
  }
  std::string path(const std::string& name) const { return (dir_ / name).string(); }
  std::string f32() const {
    const Finished finished = quantize(fmt::format("{} {} f32", kDemo, path("f32.gguf")));
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    EXPECT_EQ(finished.err, "") << "nothing is lost";
    return path("f32.gguf");
  }

  std::filesystem::path dir_ = scratch_dir("quantize");
};

TEST_F(QuantizeCommand, TellsTypesSizesAndErrors) {
  const Finished finished = quantize(fmt::format("{} {} Q4_K_M", f32(), path("q4.gguf")));
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(finished.err, "");
  EXPECT_TRUE(contains(finished.out, "bits/weight  relative RMSE\n")) << finished.out;
  EXPECT_TRUE(contains(finished.out, "\n  Q4_K ")) << finished.out;
  EXPECT_TRUE(contains(finished.out, "\n  Q6_K ")) << finished.out;
  EXPECT_TRUE(contains(finished.out, path("q4.gguf") + ": Q4_K_M, 3.8 MB instead of 23.2 MB, in "))
      << finished.out;
  EXPECT_FALSE(contains(finished.out, "blk.0.attn_q.weight"));
  EXPECT_TRUE(contains(quantize(fmt::format("{} {} Q4_K_M --verbose", f32(), path("q4.gguf"))).out,
                       "blk.0.attn_q.weight        [256, 256]  F32   Q4_K "));
  const Finished generated = run_program("inferno", "generate " + path("q4.gguf") + " Once 2");
  EXPECT_TRUE(contains(generated.err, "q4.gguf, Q4_K_M, ")) << generated.err;
}

TEST_F(QuantizeCommand, JsonHasARowForEachTensor) {
  const Finished finished = quantize(fmt::format("{} {} q5_0 --json --threads 2", f32(), path("q5.gguf")));
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  const auto json = parse_json(finished.out).value();
  EXPECT_EQ(json["type"], "Q5_0");
  EXPECT_EQ(json["bytes_after"], std::filesystem::file_size(path("q5.gguf")));
  EXPECT_NEAR(json["bits_per_weight"].get<double>(), 5.52, 0.01);
  EXPECT_EQ(json["tensors"].size(), 68u);
  EXPECT_EQ(json["tensors"][0]["to"], "Q5_0");
  EXPECT_EQ(json["tensors"][0]["shape"].size(), 2u) << json["tensors"][0]["shape"];
  EXPECT_GT(json["tensors"][0]["relative_rmse"].get<double>(), 0.01);
}

TEST_F(QuantizeCommand, TheHeadMayHaveAFormatOfItsOwn) {
  const Finished finished = quantize(fmt::format("{} {} q4_0 --head q6_k --verbose", f32(), path("q4.gguf")));
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(finished.err, "");
  EXPECT_TRUE(contains(finished.out, path("q4.gguf") + ": Q4_0 with the head in Q6_K, ")) << finished.out;
  const Json json =
      parse_json(quantize(fmt::format("{} {} q4_0 --head q6_k --json", f32(), path("q4.gguf"))).out).value();
  EXPECT_EQ(json.at("head"), "Q6_K");
  EXPECT_EQ(quantize(f32() + " " + path("x.gguf") + " q4_0 --head ''").exit_code, 2);
  const std::string inspected = run_program("inferno", "inspect " + path("q4.gguf")).out;
  EXPECT_TRUE(contains(inspected, "Q4_0")) << inspected;
  EXPECT_TRUE(contains(inspected, "Q6_K")) << inspected;
}

TEST_F(QuantizeCommand, Q8OfTheDemoModelsF32IsTheDemoModel) {
  EXPECT_EQ(quantize(fmt::format("{} {} q8_0", f32(), path("q8.gguf"))).exit_code, 0);
  const auto story = [](const std::string& model) {
    return run_program("inferno", fmt::format("generate {} 'Once upon a time' 40 --metrics none", model)).out;
  };
  EXPECT_EQ(story(path("q8.gguf")), story(kDemo));
}

TEST_F(QuantizeCommand, WarnsOfASecondLossAndOfRowsThatDoNotFit) {
  const Finished again = quantize(fmt::format("{} {} q4_0", kDemo, path("q4.gguf")));
  EXPECT_EQ(again.exit_code, 0);
  EXPECT_TRUE(contains(again.err, "43 of 68 tensors are quantized already")) << again.err;
  REQUIRE_SHARED_DATA("models/stories260K-f32.gguf");
  const Finished narrow = quantize(
      fmt::format("'{}' {} q4_k", shared_data("models/stories260K-f32.gguf").string(), path("n.gguf")));
  EXPECT_EQ(narrow.exit_code, 0);
  EXPECT_TRUE(contains(narrow.err, "are no whole blocks of Q4_K: stored as Q5_0")) << narrow.err;
  // What is stored is said, not what was asked for.
  const Finished head = quantize(fmt::format(
      "{} {} q4_0 --head q6_k", shared_data("models/stories260K-f32.gguf").string(), path("head.gguf")));
  EXPECT_TRUE(contains(head.out, path("head.gguf") + ": Q4_0 with the head in Q8_0, ")) << head.out;
}

TEST_F(QuantizeCommand, WarnsOfAFileWithoutTensors) {
  const std::string bare = write_bare_model(dir_);
  const Finished finished = quantize(fmt::format("{} {} q8_0", bare, path("out.gguf")));
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(
      finished.err,
      fmt::format("warning: {} has no tensors (a vocabulary alone?): there is nothing to quantize\n", bare));
}

TEST_F(QuantizeCommand, RefusesWhatItCannotDo) {
  const std::string input = f32();
  const auto refused = [&](const std::string& arguments, int exit_code, const std::string& what) {
    const Finished finished = quantize(arguments);
    EXPECT_EQ(finished.exit_code, exit_code) << arguments;
    EXPECT_EQ(finished.out, "");
    EXPECT_TRUE(contains(finished.err, what)) << finished.err;
  };
  refused(fmt::format("{} {} q4_km", input, path("x.gguf")), 2, "did you mean Q4_K_M?");
  refused(fmt::format("{} {} iq2_xs", input, path("x.gguf")), 2,
          "TYPE: expected one of F32, F16, BF16, Q8_0, Q6_K, Q5_1, Q5_K_M, Q5_K_S, Q5_K, "
          "Q5_0, Q4_1, Q4_K_M, Q4_K_S, Q4_K, Q4_0, IQ4_NL, IQ4_XS, MXFP4, Q3_K_M, Q3_K, Q2_K, found "
          "\"iq2_xs\"\n");
  refused(fmt::format("{} {} q4_0 --head q6_k_m", input, path("x.gguf")), 2,
          "error: --head: expected one of F32, F16, BF16, Q8_0, Q6_K, Q5_1, Q5_K, Q5_0, Q4_1, Q4_K, Q4_0, "
          "IQ4_NL, "
          "IQ4_XS, MXFP4, Q3_K, Q2_K, found \"q6_k_m\"; did you mean Q6_K?\n");
  refused(fmt::format("{} {} q8_0", input, input), 2, "expected another file than the one that is read");
  std::filesystem::create_symlink(input, path("link.gguf"));
  refused(fmt::format("{} {} q8_0", path("link.gguf"), input), 2, "expected another file");
  refused(fmt::format("{} {}", input, path("x.gguf")), 2, "TYPE");
  refused(fmt::format("{} {} q8_0 --threads 0", input, path("x.gguf")), 2, "expected a whole number from 1");
  refused(fmt::format("{} {} q8_0", path("absent.gguf"), path("x.gguf")), 1, "absent.gguf");
  refused(fmt::format("{} {}/no/x.gguf q8_0", input, dir_.string()), 1, "no does not exist; make it");
  EXPECT_FALSE(std::filesystem::exists(path("x.gguf")));
}

TEST_F(QuantizeCommand, AnInterruptLeavesNoFileAndSaysSo) {
  RunningProgram program("inferno",
                         fmt::format("quantize synthetic:qwen3-0.6b:f16 {} q3_k_m", path("x.gguf")));
  // Until it writes; before it loads it has an empty file for a moment, to see whether it may.
  const auto writes = [&] {
    std::error_code error;
    for (const auto& file : std::filesystem::directory_iterator(dir_)) {
      const auto bytes = file.file_size(error);
      if (!error && bytes > 0) return true;
    }
    return false;
  };
  while (!writes() && !program.ended()) ::usleep(1000);
  program.send(SIGINT);
  const Finished finished = program.finish();
  EXPECT_EQ(finished.exit_code, 130);
  EXPECT_FALSE(finished.killed);
  EXPECT_TRUE(contains(finished.err, "warning: interrupted: " + path("x.gguf") + " was not written\n"))
      << finished.err;
  EXPECT_TRUE(std::filesystem::is_empty(dir_));
}

TEST_F(QuantizeCommand, AFullDiskIsOneLineAndLeavesWhatWasThere) {
  const std::string input = f32(), output = path("out.gguf");
  EXPECT_EQ(quantize(fmt::format("{} {} q4_0", input, output)).exit_code, 0);
  const std::string before = read_file(output);
  // The largest file that the shell's limit lets it write: 512 KB.
  const Finished full = quantize(fmt::format("{} {} q8_0", input, output),
                                 "sh -c 'trap \"\" XFSZ; ulimit -f 1024; exec \"$@\"' sh");
  EXPECT_EQ(full.exit_code, 1);
  EXPECT_TRUE(contains(full.err, "cannot write it: ")) << full.err;
  EXPECT_EQ(std::count(full.err.begin(), full.err.end(), '\n'), 1) << full.err;
  EXPECT_EQ(read_file(output), before);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir_), {}), 2);
}

}  // namespace
}  // namespace inferno::test
