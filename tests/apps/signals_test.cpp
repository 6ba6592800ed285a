// A generation that is interrupted keeps what it has.
#include <gtest/gtest.h>

#include <csignal>
#include <string>

#include "support/run_program.h"

namespace inferno::test {
namespace {

// Far from its end when its first text comes: every token computes the whole sequence anew.
constexpr const char* kSlow = "generate --no-kv --ignore-eos -n 500";

TEST(Signals, TheFirstEndsCleanlyWithTextAndMetrics) {
  for (const auto& [signal, exit_code] : {std::pair{SIGINT, 130}, std::pair{SIGTERM, 143}}) {
    RunningProgram program("inferno", kSlow);
    ASSERT_NE(program.read_some(), "");
    program.send(signal);
    const Finished finished = program.finish();
    EXPECT_EQ(finished.exit_code, exit_code) << finished.err;
    EXPECT_FALSE(finished.killed);
    EXPECT_TRUE(finished.out.starts_with(",") && finished.out.ends_with('\n')) << finished.out;
    EXPECT_NE(finished.err.find("\nmetrics:\n"), std::string::npos) << finished.err;
    EXPECT_EQ(finished.err.find("error"), std::string::npos) << finished.err;
  }
}

TEST(Signals, TheSecondEndsAtOnce) {
  // A pass of this prompt takes long enough that only a signal can end the program within it.
  std::string prompt = "generate --no-kv --ignore-eos -n 100 --prompt-ids 5";
  for (int i = 0; i < 400; ++i) prompt += ",5";
  RunningProgram program("inferno", prompt);
  ASSERT_NE(program.read_some(), "");
  while (!program.ended()) program.send(SIGINT);
  const Finished finished = program.finish();
  EXPECT_EQ(finished.exit_code, 130);
  EXPECT_TRUE(finished.killed);
}

TEST(Signals, ModelGenerateKeepsWhatItHasToo) {
  RunningProgram program("model-generate",
                         INFERNO_SOURCE_DIR "/models/demo/demo-tales-q8_0.gguf Once 500 --no-kv");
  ASSERT_NE(program.read_some(), "");
  program.send(SIGINT);
  const Finished finished = program.finish();
  EXPECT_EQ(finished.exit_code, 130) << finished.err;
  EXPECT_NE(finished.out.find("\ngenerated tokens ("), std::string::npos) << finished.out;
}

}  // namespace
}  // namespace inferno::test
