// Where the output goes: terminals, full disks, readers that went away.
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "support/run_program.h"
#include "support/shared_data.h"
#include "support/tiny_model.h"

namespace inferno::test {
namespace {

// What a screen without escape codes shows after `bytes`: \r goes back and what follows overwrites.
std::string on_screen(const std::string& bytes) {
  std::string screen;
  std::vector<std::string> line;  // characters
  size_t column = 0;
  for (size_t i = 0; i < bytes.size();) {
    size_t length = 1;
    while (i + length < bytes.size() && (static_cast<unsigned char>(bytes[i + length]) & 0xc0) == 0x80)
      ++length;
    const std::string character = bytes.substr(i, length);
    i += length;
    if (character == "\r") {
      column = 0;
    } else if (character == "\n") {
      while (!line.empty() && line.back() == " ") line.pop_back();
      for (const std::string& c : line) screen += c;
      screen += "\n";
      line.clear();
      column = 0;
    } else {
      if (column >= line.size()) line.resize(column + 1, " ");
      line[column++] = character;
    }
  }
  for (const std::string& c : line) screen += c;
  return screen;
}

bool has_control(const std::string& text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte < 0x20 && !contains("\r\n\t", std::string(1, text[i]))) || byte == 0x7f) return true;
    if (byte == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0) return true;
  }
  return false;
}

TEST(Output, ATerminalShowsPromptAndTextAndNothingOfTheBar) {
  const Finished finished = run_in_terminal("inferno", "generate -n 3 --metrics none", "NO_COLOR=1");
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_TRUE(contains(finished.out, "█")) << "a bar while loading";
  EXPECT_FALSE(has_control(finished.out)) << finished.out;
  EXPECT_EQ(on_screen(finished.out), "Once upon a time, there was\n");
}

TEST(Output, ALongPromptTellsHowFarItIsAndLeavesNothingOfThat) {
  const auto dir = scratch_dir("long_prompt");
  TinySpec spec;
  spec.context_length = 16384;
  const auto bytes = TinyModel(spec).bytes();
  write_file(dir / "tiny.gguf", bytes);
  const std::string prompt(4000, 'x');
  std::ofstream(dir / "prompt") << prompt;
  const std::string arguments =
      fmt::format("generate --backend scalar {0}/tiny.gguf - 2 --metrics none <{0}/prompt", dir.string());
  const Finished finished = run_in_terminal("inferno", arguments, "NO_COLOR=1");
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_TRUE(contains(finished.out, "\rprompt: ")) << finished.out;
  EXPECT_TRUE(contains(finished.out, " of 4,000 tokens, ")) << finished.out;
  EXPECT_EQ(on_screen(finished.out).find(prompt), 0u) << on_screen(finished.out);
}

// Lines of the log would stand between the pieces of the text.
TEST(Output, TextThatSharesATerminalWithEventsStandsWhole) {
  const Finished finished =
      run_in_terminal("inferno", "generate -n 4 --metrics none", "INFERNO_LOG=info NO_COLOR=1");
  EXPECT_TRUE(contains(finished.out, "Once upon a time, there was a")) << finished.out;
  EXPECT_TRUE(contains(finished.out, "step=4")) << finished.out;
}

TEST(Output, ALineOfTheLogBeginsOnALineOfItsOwn) {
  const Finished finished = run_in_terminal("inferno", "generate -n 200 --metrics none",
                                            "INFERNO_LOG=inferno::backend=debug NO_COLOR=1");
  const std::string screen = on_screen(finished.out);
  const size_t event = screen.find("Z DEBUG inferno: ");
  ASSERT_NE(event, std::string::npos) << screen;
  EXPECT_EQ(screen[event - std::string("2026-05-19T22:14:03").size() - 1], '\n') << screen;
}

TEST(Output, InOnePipeTextAndLogHaveLinesOfTheirOwn) {
  const std::string whole = run_program("inferno", "generate -n 4 --metrics none").out;
  const std::string tokens =
      run_program("inferno", "generate -n 4 --metrics none 2>&1", "", "INFERNO_LOG=info").out;
  EXPECT_TRUE(contains(tokens, "\n" + whole)) << tokens;
  const std::string cut =
      run_program("inferno", "generate -n 200 --metrics none 2>&1", "", "INFERNO_LOG=inferno::backend=debug")
          .out;
  const size_t event = cut.find("Z DEBUG inferno: ");
  ASSERT_NE(event, std::string::npos) << cut;
  EXPECT_EQ(cut[event - std::string("2026-05-19T22:14:03").size() - 1], '\n') << cut;
}

TEST(Output, ColourOnlyWhereItIsWanted) {
  EXPECT_TRUE(contains(run_in_terminal("inferno", "generate -n 1").out, "\x1b[2mOnce upon a time\x1b[0m,"));
  EXPECT_TRUE(contains(run_in_terminal("inferno", "nonsense").out, "\x1b[1;31merror:\x1b[0m"));
  for (const char* environment : {"NO_COLOR=1", "TERM=dumb"}) {
    for (const char* arguments : {"generate -n 1", "nonsense", "inspect nowhere.gguf"}) {
      const Finished finished = run_in_terminal("inferno", arguments, environment);
      EXPECT_FALSE(contains(finished.out, "\x1b")) << environment << " " << arguments << finished.out;
    }
  }
  EXPECT_FALSE(contains(run_in_terminal("inferno", "generate -n 1", "TERM=dumb").out, "\r\x20"));
  const Finished piped = run_program("inferno", "generate -n 2");
  EXPECT_FALSE(has_control(piped.out + piped.err)) << piped.out << piped.err;
}

TEST(Output, AModelCannotSendControlCharactersToATerminal) {
  const std::string model = (scratch_dir("controls") / "random.gguf").string();
  const auto bytes = TinyModel({}).bytes();
  write_file(model, bytes);
  const std::string arguments = "generate " + model + " hello 300 -t 2 --ignore-eos --metrics none";
  ASSERT_TRUE(has_control(run_program("inferno", arguments).out)) << "off a terminal the text is as it is";
  const Finished finished = run_in_terminal("inferno", arguments, "NO_COLOR=1");
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_FALSE(has_control(finished.out)) << finished.out;
  EXPECT_TRUE(contains(finished.out, "\\x")) << finished.out;
}

TEST(Output, NamesOfFilesCannotSendControlCharacters) {
  const std::string path = "\"$(printf 'evil\\033[31m\\302\\233.gguf')\"";
  for (const std::string command : {"generate ", "inspect ", "tokenize "}) {
    const std::string text = command == "tokenize " ? " hello" : "";
    const Finished finished = run_program("inferno", command + path + text);
    EXPECT_EQ(finished.exit_code, 1);
    EXPECT_FALSE(has_control(finished.err)) << finished.err;
    EXPECT_TRUE(contains(finished.err, "evil")) << finished.err;
  }
  for (const std::string arguments :
       {"generate --metrics ", "generate --backend ", "generate -n ", "completion ", ""}) {
    const Finished finished = run_program("inferno", arguments + path);
    EXPECT_EQ(finished.exit_code, 2) << arguments;
    EXPECT_FALSE(has_control(finished.err)) << finished.err;
  }
}

TEST(Output, AFullDiskIsSaidAndOne) {
  const std::string model = "'" INFERNO_SOURCE_DIR "/models/demo/demo-tales-q8_0.gguf'";
  for (const auto& [program, arguments] :
       std::vector<std::pair<std::string, std::string>>{{"inferno", "generate -n 3 --metrics none"},
                                                        {"inferno", "generate -n 3 --json"},
                                                        {"inferno", "inspect " + model},
                                                        {"inferno", "tokenize " + model + " hello"},
                                                        {"inferno", "completion bash"},
                                                        {"inferno", "--help"},
                                                        {"inferno", "--version"},
                                                        {"model-generate", model},
                                                        {"tokenizer-demo", model}}) {
    const Finished finished = run_program(program, arguments + " >/dev/full");
    EXPECT_EQ(finished.exit_code, 1) << arguments;
    EXPECT_EQ(finished.err, "error: cannot write to standard output: No space left on device\n") << arguments;
  }
}

TEST(Output, AReaderThatWentAwayEndsIt) {
  // Without an end to wait for: 500 tokens without a cache take minutes.
  RunningProgram program("inferno", "generate --no-kv --ignore-eos -n 500 --metrics none");
  ASSERT_NE(program.read_some(), "");
  program.close_output();
  const Finished finished = program.finish();
  EXPECT_EQ(finished.exit_code, 141) << "as of SIGPIPE, for `set -o pipefail`";
  EXPECT_FALSE(finished.killed) << "what is to be removed at the end is removed";
  EXPECT_EQ(finished.err, "");

  RunningProgram inspect("inferno",
                         "inspect --full '" INFERNO_SOURCE_DIR "/models/demo/demo-tales-q8_0.gguf'");
  ASSERT_NE(inspect.read_some(), "");
  inspect.close_output();
  const Finished inspected = inspect.finish();
  EXPECT_EQ(inspected.exit_code, 141);
  EXPECT_EQ(inspected.err, "");
}

}  // namespace
}  // namespace inferno::test
