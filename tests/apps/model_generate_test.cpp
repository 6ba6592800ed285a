// model-generate, the program of the seed: its whole block on stdout, events on stderr.
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <string>

#include "models/demo/demo_model.h"
#include "support/run_program.h"
#include "support/shared_data.h"

namespace inferno::test {
namespace {

class ModelGenerate : public testing::Test {
 protected:
  void SetUp() override {
    const auto bytes = demo::model_bytes();
    write_file(path_, bytes);
  }

  Finished run(const std::string& arguments, const std::string& environment = "") const {
    return run_program("model-generate", path_ + " " + arguments, "", environment);
  }

  std::string path_ = (scratch_dir("model_generate") / "model.gguf").string();
};

// The durations are the machine's; everything else is known.
std::string without_durations(const std::string& text) {
  return std::regex_replace(text, std::regex("[0-9]+\\.[0-9]{3}"), "T");
}

TEST_F(ModelGenerate, PrintsTheBlockOfTheSeed) {
  const Finished finished = run("'Once upon a time' 3");
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(finished.err, "");
  EXPECT_EQ(without_durations(finished.out),
            "prompt: \"Once upon a time\"\n"
            "prompt tokens (4): [542, 495, 258, 420]\n"
            "eos token id: 4093\n"
            "\n"
            "\n"
            "metrics:\n"
            " time_to_first_token_ms: T\n"
            " decode_tokens_per_second: T\n"
            " per_forward_ms: min T max T mean T (n=3)\n"
            " forward 1: T ms\n"
            " forward 2: T ms\n"
            " forward 3: T ms\n"
            "\n"
            "generated tokens (3): [44, 373, 293]\n"
            "generated text: \", there was\"\n");
}

TEST_F(ModelGenerate, DefaultsAreHelloWorldAndTwenty) {
  const std::string out = run("").out;
  EXPECT_TRUE(out.starts_with("prompt: \"hello world\"\n")) << out;
  EXPECT_NE(out.find("generated tokens (20): ["), std::string::npos) << out;
}

TEST_F(ModelGenerate, NothingToGenerateIsEmDashes) {
  const Finished finished = run("hello 0");
  EXPECT_TRUE(
      finished.out.ends_with("\nmetrics:\n time_to_first_token_ms: —\n decode_tokens_per_second: —\n"
                             " per_forward_ms: —\n\ngenerated tokens (0): []\ngenerated text: \"\"\n"))
      << finished.out;
}

TEST_F(ModelGenerate, AFullContextIsSaid) {
  std::string prompt;
  for (int i = 0; i < 508; ++i) prompt += "dog ";
  const Finished finished = run("'" + prompt + "' 100");
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_EQ(
      finished.err,
      "warning: 100 tokens may come, but the model's context of 512 leaves room for 3 after the prompt: "
      "the text ends there at the latest\n"
      "warning: the text ends here because prompt and text fill the model's context of 512 tokens\n");
}

TEST_F(ModelGenerate, QuotesAsTheSeedDoes) {
  const Finished finished = run("\"$(printf 'a \"b\"\\n\\tc\\033')\" 1");
  EXPECT_TRUE(finished.out.starts_with("prompt: \"a \\\"b\\\"\\n\\tc\\u{1b}\"\n")) << finished.out;
}

TEST_F(ModelGenerate, EventsAreOnStderrWhenAskedFor) {
  for (const char* environment : {"RUST_LOG=info", "INFERNO_LOG=info", "INFERNO_LOG=inferno::decode=info",
                                  "INFERNO_LOG=info RUST_LOG=off"}) {
    const Finished finished = run("'Once upon a time' 2", environment);
    const std::regex lines(
        "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z  INFO model-generate: step=1 token_id=44 prob=[0-9.]+ "
        "token=,\n"
        "[0-9TZ:-]+  INFO model-generate: step=2 token_id=373 prob=[0-9.]+ token=\" there\"\n");
    EXPECT_TRUE(std::regex_match(finished.err, lines)) << environment << "\n" << finished.err;
  }
}

TEST_F(ModelGenerate, TheEosIsAnEventAndAGeneratedId) {
  const Finished finished = run("'Once upon a time' 400", "INFERNO_LOG=info");
  EXPECT_TRUE(finished.err.ends_with(" INFO model-generate: [EOS reached]\n")) << finished.err;
  EXPECT_NE(finished.out.find(", 4093]\ngenerated text: "), std::string::npos) << finished.out;
}

TEST_F(ModelGenerate, TracePrintsTheProfile) {
  const std::string err = run("hello 2", "INFERNO_LOG=trace").err;
  EXPECT_NE(err.find("operations\n"), std::string::npos) << err;
  EXPECT_NE(err.find("matmul"), std::string::npos) << err;
}

TEST_F(ModelGenerate, AMalformedFilterNamesTheVariable) {
  const Finished finished = run("hello 2", "INFERNO_LOG=inof");
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_EQ(finished.out, "");
  EXPECT_TRUE(finished.err.starts_with("error: INFERNO_LOG: ")) << finished.err;
  EXPECT_NE(finished.err.find("did you mean info?"), std::string::npos) << finished.err;
  const Finished nonsense = run("hello 2", "INFERNO_LOG=nonsense");
  EXPECT_EQ(nonsense.exit_code, 2);
  EXPECT_TRUE(
      nonsense.err.starts_with("error: INFERNO_LOG: log filter: cannot read \"nonsense\"; expected error|"))
      << nonsense.err;
  EXPECT_EQ(run("hello 2", "RUST_LOG=nonsense").exit_code, 0) << "another program's";
  EXPECT_EQ(run("hello 2", "INFERNO_LOG=inferno::backend=debug,warn").exit_code, 0);
}

TEST_F(ModelGenerate, WithoutArgumentsItShowsItsUsage) {
  const Finished finished = run_program("model-generate", "");
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_EQ(finished.out, "");
  EXPECT_NE(finished.err.find("usage: model-generate <gguf_path> [prompt] [max_new_tokens]"),
            std::string::npos)
      << finished.err;
}

TEST_F(ModelGenerate, AFileThatIsNoModelIsOneLineAndOne) {
  std::ofstream(path_, std::ios::trunc) << "GGUF, not";
  const Finished finished = run("hello");
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_EQ(finished.out, "");
  EXPECT_EQ(std::count(finished.err.begin(), finished.err.end(), '\n'), 1) << finished.err;
}

}  // namespace
}  // namespace inferno::test
