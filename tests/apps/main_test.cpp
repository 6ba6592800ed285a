// The one executable: its commands, its help, its names.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/version.h"
#include "support/run_program.h"
#include "support/shared_data.h"

namespace inferno::test {
namespace {

constexpr const char* kCommands[] = {"generate", "inspect", "tokenize", "logits",    "synthesize",
                                     "ceilings", "bench",   "cache",    "completion"};
constexpr const char* kLinks[] = {"model-generate", "gguf-inspect", "tokenizer-demo", "bench-generation"};

void expect_help(const Finished& finished, const std::string& usage) {
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_EQ(finished.err, "");
  EXPECT_NE(finished.out.find("\nusage: " + usage), std::string::npos) << finished.out;
  EXPECT_NE(finished.out.find("\nExample"), std::string::npos) << finished.out;
  std::istringstream lines(finished.out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
}

TEST(Executable, HelpShowsUsageAndExamplesInAHundredColumns) {
  expect_help(run_program("inferno", "--help"), "inferno <command> [options]\n");
  for (const std::string command : kCommands) {
    expect_help(run_program("inferno", command + " --help"), "inferno " + command + " ");
  }
  for (const std::string link : kLinks) expect_help(run_program(link, "--help"), link + " ");
}

TEST(Executable, HelpNamesValuesForPeople) {
  for (const std::string command : {"generate", "inspect", "tokenize", "logits", "synthesize", "ceilings",
                                    "completion", "bench generation", "bench ladder", "bench kernels",
                                    "bench peers", "bench compare", "bench report"}) {
    const std::string help = run_program("inferno", command + " --help").out;
    for (const char* raw : {"INT", "FLOAT", " in [", "POSITIVE", "TEXT:", "..."}) {
      EXPECT_EQ(help.find(raw), std::string::npos) << raw << "\n" << help;
    }
  }
  EXPECT_NE(run_program("inferno", "bench peers --help").out.find("-p, --prompt-tokens N "),
            std::string::npos);
}

TEST(Executable, HelpNamesEveryCommandAndWhereTheVariablesAre) {
  const std::string help = run_program("inferno", "--help").out;
  for (const char* command : kCommands)
    EXPECT_NE(help.find(std::string("\n  ") + command), std::string::npos);
  EXPECT_NE(help.find("`inferno help environment`"), std::string::npos) << help;
  const Finished environment = run_program("inferno", "help environment");
  EXPECT_EQ(environment.exit_code, 0);
  for (const char* variable : {"INFERNO_LOG", "RUST_LOG", "NO_COLOR"}) {
    EXPECT_NE(environment.out.find(std::string("\n  ") + variable), std::string::npos) << variable;
    EXPECT_EQ(help.find(variable), std::string::npos) << "help should fit on a screen";
  }
}

TEST(Executable, TellsItsVersion) {
  const Finished finished = run_program("inferno", "--version");
  EXPECT_EQ(finished.exit_code, 0);
  const std::string revision = git_revision().empty() ? "" : fmt::format(" ({})", git_revision());
  EXPECT_TRUE(finished.out.starts_with(fmt::format("inferno {}{}\ninstruction set: ", version(), revision)))
      << finished.out;
  EXPECT_TRUE(finished.out.ends_with(")\n")) << finished.out;
  const Finished forced = run_program("inferno", "--version", "", "INFERNO_FORCE_ISA=generic");
  EXPECT_NE(forced.out.find("\ninstruction set: generic (here: generic"), std::string::npos) << forced.out;
  const Finished wrong = run_program("inferno", "--version", "", "INFERNO_FORCE_ISA=avx3");
  EXPECT_EQ(wrong.exit_code, 0);
  EXPECT_NE(wrong.out.find("\ninstruction set: INFERNO_FORCE_ISA: expected one of "), std::string::npos)
      << wrong.out;
}

TEST(Executable, WithoutACommandTheHelpIsOnStderr) {
  const Finished finished = run_program("inferno", "");
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_EQ(finished.out, "");
  EXPECT_EQ(finished.err, run_program("inferno", "--help").out);
}

TEST(Executable, AWordNobodyKnowsGetsTheNearestName) {
  const Finished command = run_program("inferno", "genrate hello");
  EXPECT_EQ(command.exit_code, 2);
  EXPECT_EQ(command.err,
            "error: \"genrate\" is not a command of inferno; did you mean generate?\n"
            "`inferno --help` shows what there is\n");
  for (const char* word : {"run", "chat"}) {
    EXPECT_NE(run_program("inferno", word).err.find("did you mean generate?"), std::string::npos) << word;
  }
  EXPECT_NE(run_program("inferno", "serve").err.find("; there is no server in this version"),
            std::string::npos);
  EXPECT_NE(run_program("inferno", "pull x").err.find("; inferno does not download"), std::string::npos);
  const Finished option = run_program("inferno", "--verson");
  EXPECT_EQ(option.exit_code, 2);
  EXPECT_NE(option.err.find("did you mean --version?"), std::string::npos) << option.err;
}

TEST(Executable, UnderstandsTheHabitsOfOtherPrograms) {
  EXPECT_EQ(run_program("inferno", "help").out, run_program("inferno", "--help").out);
  EXPECT_EQ(run_program("inferno", "help bench compare").out,
            run_program("inferno", "bench compare --help").out);
  EXPECT_EQ(run_program("inferno", "help nothing").exit_code, 2);
  for (const char* flag : {"-v", "-V"}) {
    const Finished finished = run_program("inferno", flag);
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    EXPECT_EQ(finished.out, run_program("inferno", "--version").out);
  }
}

TEST(Executable, ATextThatBeginsLikeTheHelpOptionIsNone) {
  for (const char* arguments : {"generate '-hi there' -n 3", "generate -his"}) {
    const Finished finished = run_program("inferno", arguments);
    EXPECT_EQ(finished.exit_code, 2) << arguments;
    EXPECT_EQ(finished.out, "") << arguments;
    EXPECT_NE(finished.err.find("is not an option here"), std::string::npos) << finished.err;
  }
  for (const char* arguments : {"-h", "generate -h", "generate --help"})
    EXPECT_EQ(run_program("inferno", arguments).exit_code, 0) << arguments;
}

TEST(Executable, ACommandThatIsMissingIsFollowedByThoseThatThereAre) {
  const Finished finished = run_program("inferno", "bench");
  EXPECT_EQ(finished.exit_code, 2);
  for (const char* name : {"generation", "ladder", "kernels", "peers", "speculation", "compare", "report"}) {
    EXPECT_NE(finished.err.find(std::string("\n  ") + name + " "), std::string::npos) << finished.err;
  }
  EXPECT_TRUE(finished.err.ends_with("`inferno bench --help` shows what there is\n")) << finished.err;
}

// What "$UNSET" after the = gives is not the folder that there is without it.
TEST(Executable, AFlagWithNothingAfterTheEqualsSignIsRefused) {
  for (const char* flag : {"--repack-cache", "--kv", "--no-head-screen", "--json"}) {
    const Finished finished = run_program("inferno", fmt::format("generate {}= hi 1", flag));
    EXPECT_EQ(finished.exit_code, 2) << flag;
    EXPECT_EQ(finished.out, "");
    EXPECT_TRUE(finished.err.starts_with(
        fmt::format("error: {}= has no value; give one, or leave the \"=\" out\n`inferno generate ", flag)))
        << finished.err;
  }
  for (const char* option : {"--stop", "--metrics", "--seed", "-n"}) {
    const Finished finished = run_program("inferno", fmt::format("generate {}= hi 1", option));
    EXPECT_EQ(finished.exit_code, 2) << option;
    EXPECT_TRUE(
        finished.err.starts_with(fmt::format("error: {}= has no value; give one\n`inferno gen", option)))
        << finished.err;
  }
  EXPECT_EQ(run_program("inferno", "generate --metrics none -n 1 --stop --kv= hi").exit_code, 0) << "a value";
  EXPECT_EQ(run_program("inferno", "generate --kv=basic --metrics none hi 1").exit_code, 0);
  EXPECT_EQ(run_program("inferno", "generate --kv --metrics none -n 1 -- --kv=").exit_code, 0) << "a prompt";
}

TEST(Executable, AMissingModelIsALoadErrorWhereNoPromptCanBeMeant) {
  const auto dir = scratch_dir("missing_model");
  const std::string text = (dir / "text.txt").string();
  std::ofstream(text) << "a text";
  for (const std::string model : {"no-such-model", "no-such-model.gguf", "./no-such-model"}) {
    for (const std::string& command :
         {"inspect " + model, "tokenize " + model + " hi",
          "logits " + model + " --prompt-ids 1 -o " + (dir / "x.npy").string(),
          "perplexity " + model + " " + text, "quantize " + model + " " + (dir / "x.gguf").string() + " q8_0",
          "bench generation --no-save --model " + model, "bench ladder --model " + model,
          "bench peers --program true " + model, "bench speculation " + model + " " + text}) {
      const Finished finished = run_program("inferno", command);
      EXPECT_EQ(finished.exit_code, 1) << command;
      EXPECT_TRUE(finished.err.starts_with("error: " + model + ": no such file")) << finished.err;
    }
    EXPECT_EQ(run_program("model-generate", model + " hi 1").exit_code, 1) << model;
  }
}

TEST(Executable, AModelIsNotReadFromStandardInput) {
  const Finished finished = run_program("inferno", "inspect -");
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_TRUE(finished.err.starts_with(
      "error: -: a model cannot be read from standard input; a model is a .gguf file "))
      << finished.err;
}

TEST(Executable, APipeWhereATextIsMeantIsSentToStandardInput) {
  const std::string pipe = (scratch_dir("pipe") / "text").string();
  ASSERT_EQ(std::system(("mkfifo " + pipe).c_str()), 0);
  for (const std::string command : {"perplexity", "bench speculation", "tokenize --file"}) {
    const bool is_option = command.ends_with("--file");
    const std::string demo = "'" INFERNO_SOURCE_DIR "/models/demo/demo-tales-q8_0.gguf'";
    const Finished finished =
        run_program("inferno", is_option ? fmt::format("{} {} {}", command, pipe, demo)
                                         : fmt::format("{} {} {}", command, demo, pipe));
    EXPECT_EQ(finished.exit_code, 1) << finished.err;
    EXPECT_EQ(finished.err,
              "error: " + pipe +
                  ": expected a regular file, found a named pipe (FIFO); - reads the text from standard "
                  "input\n");
  }
}

TEST(Executable, EveryUsageErrorEndsWithWhereHelpIs) {
  const std::string demo = "'" INFERNO_SOURCE_DIR "/models/demo/demo-tales-q8_0.gguf' ";
  const std::pair<std::string, std::string> cases[] = {
      {"generate", "one two three"},
      {"generate", "--top-p 2"},
      {"generate", "-t -1"},
      {"generate", "''"},
      {"inspect", "''"},  // what "$UNSET" gives is not the demo model
      {"quantize", "'' out.gguf Q8_0"},
      {"perplexity", "'' '" INFERNO_SOURCE_DIR "/README.md'"},
      {"logits", "'' --prompt-ids 1 -o out.npy"},
      {"tokenize", "'' Hello"},
      {"tokenize", "Hello"},
      {"tokenize", demo},
      {"quantize", demo + "out.gguf Q4KM"},
      {"perplexity", demo + "'" INFERNO_SOURCE_DIR "/README.md' --ctx 100000"},
      {"logits", demo + "--prompt-ids 1,2,99999 -o out.npy"},
  };
  for (const auto& [command, arguments] : cases) {
    const Finished finished = run_program("inferno", command + " " + arguments);
    EXPECT_EQ(finished.exit_code, 2) << command << arguments;
    EXPECT_TRUE(finished.err.starts_with("error: ")) << finished.err;
    EXPECT_TRUE(finished.err.ends_with("\n`inferno " + command + " --help` shows what there is\n"))
        << finished.err;
  }
}

TEST(Executable, IsTheProgramThatItIsCalledAsWhereverItIs) {
  const auto dir = scratch_dir("elsewhere");
  const std::string executable = INFERNO_BIN_DIR "/inferno";
  std::filesystem::copy_file(executable, dir / "gguf-inspect");
  std::filesystem::create_symlink(executable, dir / "tokenizer-demo");
  std::filesystem::create_symlink(executable, dir / "another-name");
  // From the folder of the programs to the scratch folder.
  const std::string up = "../../../../../../../../../../../../../../../.." + dir.string() + "/";
  EXPECT_EQ(run_program(up + "gguf-inspect", "--help").out, run_program("gguf-inspect", "--help").out);
  EXPECT_EQ(run_program(up + "tokenizer-demo", "--help").out, run_program("tokenizer-demo", "--help").out);
  EXPECT_EQ(run_program(up + "another-name", "--help").out, run_program("inferno", "--help").out);
}

}  // namespace
}  // namespace inferno::test
