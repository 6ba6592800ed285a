#include "base/subprocess.h"

#include <gtest/gtest.h>

#include <thread>

namespace inferno {
namespace {

TEST(Subprocess, GivesOutputAndExitCode) {
  const auto finished = run_subprocess({"/bin/sh", "-c", "printf 'a b\\n'; exit 3"});
  ASSERT_TRUE(finished.ok()) << finished.error().message;
  EXPECT_EQ(finished->out, "a b\n");
  EXPECT_EQ(finished->exit_code, 3);
}

TEST(Subprocess, ArgumentsReachTheProgramAsTheyAre) {
  const auto finished =
      run_subprocess({"/bin/sh", "-c", "printf '%s|' \"$@\"", "sh", "a b", "$HOME", "*", ""});
  EXPECT_EQ(finished->out, "a b|$HOME|*||");
}

TEST(Subprocess, AProgramThatIsNotThereIsAnError) {
  const auto finished = run_subprocess({"/nowhere/program"});
  ASSERT_FALSE(finished.ok());
  EXPECT_EQ(finished.error().message, "/nowhere/program: cannot be started: No such file or directory");
}

TEST(Subprocess, ASignalIs128AndMore) {
  EXPECT_EQ(run_subprocess({"/bin/sh", "-c", "kill -9 $$"})->exit_code, 137);
}

TEST(Subprocess, CancellingEndsIt) {
  std::atomic<bool> cancelled{true};
  const auto finished = run_subprocess({"/bin/sleep", "1000"}, &cancelled);
  ASSERT_FALSE(finished.ok());
  EXPECT_EQ(finished.error().code, ErrorCode::kCancelled);
}

TEST(Subprocess, TooMuchOutputIsRefused) {
  const auto finished = run_subprocess({"/bin/sh", "-c", "exec cat /dev/zero"});
  ASSERT_FALSE(finished.ok());
  EXPECT_NE(finished.error().message.find("wrote more than"), std::string::npos);
}

TEST(Subprocess, FindsProgramsOnThePath) {
  EXPECT_TRUE(find_program("sh").has_value());
  EXPECT_FALSE(find_program("no-such-program-of-this-name").has_value());
  EXPECT_FALSE(find_program("").has_value()) << "a folder is no program";
}

}  // namespace
}  // namespace inferno
