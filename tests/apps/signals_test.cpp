// A generation that is interrupted keeps what it has.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>

#include "support/run_program.h"
#include "support/shared_data.h"

namespace inferno::test {
namespace {

// Far from its end when its first text comes: every token computes the whole sequence anew.
constexpr const char* kSlow = "generate --no-kv --ignore-eos -n 500";

TEST(Signals, TheFirstEndsCleanlyWithTextAndMetrics) {
  for (const auto& [signal, exit_code] :
       {std::pair{SIGINT, 130}, std::pair{SIGTERM, 143}, std::pair{SIGHUP, 129}}) {
    RunningProgram program("inferno", kSlow);
    ASSERT_NE(program.read_some(), "");
    program.send(signal);
    const Finished finished = program.finish();
    EXPECT_EQ(finished.exit_code, exit_code) << finished.err;
    EXPECT_FALSE(finished.killed);
    EXPECT_TRUE(finished.out.starts_with(",") && finished.out.ends_with('\n')) << finished.out;
    EXPECT_NE(finished.err.find("\nmetrics:\n"), std::string::npos) << finished.err;
    EXPECT_EQ(finished.err.find("error"), std::string::npos) << finished.err;
    EXPECT_NE(finished.err.find("warning: interrupted after "), std::string::npos) << finished.err;
  }
}

// As nohup(1) starts it.
TEST(Signals, AClosedTerminalMayBeIgnored) {
  const auto before = std::signal(SIGHUP, SIG_IGN);  // whom we start begins with that
  RunningProgram program("inferno", "generate --no-kv --ignore-eos -n 40");
  std::signal(SIGHUP, before);
  ASSERT_NE(program.read_some(), "");
  program.send(SIGHUP);
  const Finished finished = program.finish();
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
}

// More than a second of work until the first token, and a line before it.
TEST(Signals, WhileLoadingTheRunEndsWithASentence) {
  RunningProgram program("inferno", "generate synthetic:qwen3-0.6b:q8_0 Once 5 --top-k 4 2>&1");
  ASSERT_NE(program.read_some(), "");
  program.send(SIGINT);
  const Finished finished = program.finish();
  EXPECT_EQ(finished.exit_code, 130) << finished.out;
  EXPECT_FALSE(finished.killed);
  EXPECT_TRUE(finished.out.ends_with("\nwarning: interrupted while loading\n")) << finished.out;
}

// From a pipe that nobody writes to and nobody closes.
TEST(Signals, WhileAPromptIsReadTheRunEnds) {
  const auto path = scratch_dir("silent_pipe") / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const int writer = ::open(path.c_str(), O_RDWR);
  ASSERT_GE(writer, 0);
  RunningProgram program("inferno", "generate - <'" + path.string() + "'");
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  program.send(SIGTERM);
  const Finished finished = program.finish();
  ::close(writer);
  EXPECT_EQ(finished.exit_code, 143) << finished.err;
  EXPECT_EQ(finished.err, finished.killed
                              ? ""  // before it had begun
                              : "warning: interrupted while the text on standard input was read\n");
}

// Measured, all of it, in more than half a second.
TEST(Signals, WhileCeilingsAreMeasuredTheRunEndsSoon) {
  RunningProgram program("inferno", "ceilings --fresh");
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
  program.send(SIGINT);
  const Finished finished = program.finish();
  EXPECT_EQ(finished.exit_code, 130) << finished.err;
  EXPECT_EQ(finished.out, "");
  EXPECT_EQ(finished.err, finished.killed ? ""  // before it had begun
                                          : "warning: interrupted while the machine's ceilings were "
                                            "measured\n");
}

// As timeout(1) sends them: to its child, then to the child's group.
TEST(Signals, TwoInAMomentAreOne) {
  RunningProgram program("inferno", kSlow);
  ASSERT_NE(program.read_some(), "");
  program.send(SIGINT);
  program.send(SIGINT);
  program.send(SIGTERM);
  const Finished finished = program.finish();
  // Which of them a thread of the process sees first is the system's to say.
  EXPECT_TRUE(finished.exit_code == 130 || finished.exit_code == 143) << finished.exit_code << finished.err;
  EXPECT_FALSE(finished.killed);
  EXPECT_NE(finished.err.find("\nmetrics:\n"), std::string::npos) << finished.err;
}

TEST(Signals, TheSecondEndsAtOnce) {
  // More JSON than the pipe holds: only a signal ends the program that waits for a reader.
  std::string arguments = "generate --json -n 1 --prompt-ids 4000";
  for (int i = 0; i < 500; ++i) arguments += ",4000";
  RunningProgram program("inferno", arguments);
  program.wait_until_blocked();
  while (!program.ended()) program.send(SIGINT);
  const Finished finished = program.finish();
  EXPECT_EQ(finished.exit_code, 130);
  EXPECT_TRUE(finished.killed);
}

TEST(Signals, ModelGenerateKeepsWhatItHasToo) {
  RunningProgram program("model-generate",
                         "'" INFERNO_SOURCE_DIR "/models/demo/demo-tales-q8_0.gguf' Once 500 --no-kv");
  ASSERT_NE(program.read_some(), "");
  program.send(SIGINT);
  const Finished finished = program.finish();
  EXPECT_EQ(finished.exit_code, 130) << finished.err;
  EXPECT_NE(finished.out.find("\ngenerated tokens ("), std::string::npos) << finished.out;
}

TEST(Signals, AModelFileThatShrinksEndsTheRunWithASentence) {
  const auto path = scratch_dir("shrinking") / "model.gguf";
  std::filesystem::copy_file(INFERNO_SOURCE_DIR "/models/demo/demo-tales-q8_0.gguf", path);
  RunningProgram program("inferno", "generate " + path.string() + " Once 500 --no-kv --ignore-eos");
  ASSERT_NE(program.read_some(), "");
  std::filesystem::resize_file(path, 1 << 20);
  const Finished finished = program.finish();
  EXPECT_EQ(finished.exit_code, 1) << finished.err;
  EXPECT_NE(finished.err.find("error: " + path.string() + ": it became shorter"), std::string::npos)
      << finished.err;
}

}  // namespace
}  // namespace inferno::test
