// `inferno completion`: scripts that the shells accept and that complete.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "support/run_program.h"
#include "support/shared_data.h"

namespace inferno::test {
namespace {

// What bash offers at the end of `words`, one candidate on a line.
std::string bash_completions(const std::vector<std::string>& words) {
  const auto dir = scratch_dir("completion");
  std::ofstream(dir / "inferno.bash") << run_program("inferno", "completion bash").out;
  std::ofstream(dir / "a file.gguf") << "";
  std::ofstream(dir / "a big file.txt") << "";
  std::filesystem::create_directory(dir / "some folder");
  std::string array;
  for (const std::string& word : words) array += "'" + word + "' ";
  std::ofstream(dir / "try.bash") << "set -eu\ncd '" << dir.string()
                                  << "'\nsource ./inferno.bash\nCOMP_WORDS=(" << array
                                  << ")\nCOMP_CWORD=" << words.size() - 1
                                  << "\nCOMPREPLY=()\n_inferno\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n";
  const std::string command = "bash " + (dir / "try.bash").string() + " >" + (dir / "out").string() + " 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0);
  return read_file(dir / "out");
}

TEST(Completion, BashCompletesCommandsOptionsAndFiles) {
  EXPECT_EQ(bash_completions({"inferno", "gen"}), "generate\n");
  EXPECT_EQ(bash_completions({"inferno", "--v"}), "--version\n");
  EXPECT_EQ(bash_completions({"inferno", "generate", "--top"}), "--top-k\n--top-p\n");
  EXPECT_EQ(bash_completions({"inferno", "logits", "--out"}), "--output\n");
  EXPECT_EQ(bash_completions({"inferno", "inspect", "a f"}), "a file.gguf\n");
  EXPECT_EQ(bash_completions({"inferno", "inspect", "--json", "a f"}), "a file.gguf\n")
      << "a flag has no value";
}

TEST(Completion, BashCompletesCommandsOfCommandsAndTheirOptions) {
  EXPECT_EQ(bash_completions({"inferno", "bench", "comp"}), "compare\n");
  EXPECT_EQ(bash_completions({"inferno", "bench", "compare", "--g"}), "--gate\n");
  EXPECT_EQ(bash_completions({"inferno", "bench", "generation", "--suite", "3", "--tr"}),
            "--trials\n--trace\n");
  EXPECT_EQ(bash_completions({"inferno", "generate", "bench", "--sto"}), "--stop\n")
      << "a prompt is no command";
}

TEST(Completion, BashCompletesValues) {
  EXPECT_EQ(bash_completions({"inferno", "bench", "generation", "--suite", "f"}), "full\n");
  EXPECT_EQ(bash_completions({"inferno", "bench", "generation", "--suite", "=", "f"}), "full\n");
  EXPECT_EQ(bash_completions({"inferno", "bench", "generation", "--suite", "="}), "quick\nstandard\nfull\n");
  EXPECT_EQ(bash_completions({"inferno", "generate", "--kv-type", ""}), "f16\nf32\nbf16\nq8_0\n");
  EXPECT_EQ(bash_completions({"inferno", "generate", "--backend", "sca"}), "scalar\n");
  EXPECT_EQ(bash_completions({"inferno", "generate", "--metrics", "s"}), "summary\n");
  EXPECT_EQ(bash_completions({"inferno", "completion", "b"}), "bash\n");
  EXPECT_EQ(bash_completions({"inferno", "generate", "--trace", "a f"}), "a file.gguf\n");
  EXPECT_EQ(bash_completions({"inferno", "logits", "-o", "a f"}), "a file.gguf\n");
  EXPECT_EQ(bash_completions({"inferno", "bench", "generation", "--output-dir", ""}), "some folder\n");
  EXPECT_EQ(bash_completions({"inferno", "generate", "--seed", "a"}), "\n") << "numbers are the user's own";
}

TEST(Completion, BashCountsArgumentsWhereTheyDiffer) {
  EXPECT_EQ(bash_completions({"inferno", "quantize", "a f"}), "a file.gguf\n");
  EXPECT_EQ(bash_completions({"inferno", "quantize", "in.gguf", "a f"}), "a file.gguf\n");
  EXPECT_EQ(bash_completions({"inferno", "quantize", "in.gguf", "out.gguf", "q4_k"}),
            "q4_k_m\nq4_k_s\nq4_k\n");
  EXPECT_EQ(
      bash_completions({"inferno", "quantize", "--threads", "2", "in.gguf", "--json", "out.gguf", "bf"}),
      "bf16\n");
  EXPECT_EQ(bash_completions({"inferno", "quantize", "in.gguf", "out.gguf", "q4_0", "--head", "q4_k"}),
            "q4_k\n")
      << "no mixes";
  EXPECT_EQ(bash_completions({"inferno", "quantize", "--threads", "=", "2", "in.gguf", "a f"}),
            "a file.gguf\n");
}

TEST(Completion, BashOffersModelsAndFoldersWhereAModelIsMeant) {
  EXPECT_EQ(bash_completions({"inferno", "generate", ""}), "a file.gguf\nsome folder\n");
  EXPECT_EQ(bash_completions({"inferno", "quantize", ""}), "a file.gguf\nsome folder\n");
  EXPECT_EQ(bash_completions({"inferno", "cache", "--remove", "a"}), "a file.gguf\n");
  EXPECT_EQ(bash_completions({"gguf-inspect", "a"}), "a file.gguf\n");
  EXPECT_EQ(bash_completions({"inferno", "generate", "a b"}), "a big file.txt\n") << "where there is none";
}

TEST(Completion, BashTakesWordsInEitherCase) {
  EXPECT_EQ(bash_completions({"inferno", "quantize", "in.gguf", "out.gguf", "Q4_K"}),
            "q4_k_m\nq4_k_s\nq4_k\n");
}

TEST(Completion, BashCompletesWhatHelpIsAbout) {
  EXPECT_EQ(bash_completions({"inferno", "he"}), "help\n");
  EXPECT_EQ(bash_completions({"inferno", "help", "env"}), "environment\n");
  EXPECT_EQ(bash_completions({"inferno", "help", "gen"}), "generate\n");
}

TEST(Completion, BashCompletesTheOtherProgramsWhereverTheyAre) {
  EXPECT_EQ(bash_completions({"bench-generation", "--suite", "f"}), "full\n");
  EXPECT_EQ(bash_completions({"./bin/gguf-inspect", "--js"}), "--json\n");
  EXPECT_EQ(bash_completions({"model-generate", "a f"}), "a file.gguf\n");
  EXPECT_EQ(bash_completions({"some-alias", "gen"}), "generate\n");
  const std::string script = run_program("inferno", "completion bash").out;
  EXPECT_NE(script.find("-F _inferno inferno gguf-inspect model-generate bench-generation tokenizer-demo\n"),
            std::string::npos);
}

bool has_shell(const std::string& shell) {
  return std::system(("command -v " + shell + " >/dev/null").c_str()) == 0;
}

std::string output_of(const std::string& shell, const std::string& script) {
  const auto dir = scratch_dir("completion_" + shell);
  std::ofstream(dir / "inferno") << run_program("inferno", "completion " + shell).out;
  std::ofstream(dir / "a file.gguf") << "";
  std::ofstream(dir / "a big file.txt") << "";
  std::ofstream(dir / "try") << script;
  const std::string command = "cd '" + dir.string() + "' && HOME=. " + shell + " ./try >out 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0) << read_file(dir / "out");
  return read_file(dir / "out");
}

TEST(Completion, FishCompletesCommandsOptionsValuesAndFiles) {
  if (!has_shell("fish")) GTEST_SKIP() << "no fish here";
  const auto completions = [](const std::string& line) {
    return output_of("fish", "source ./inferno\ncomplete -C '" + line + "' | cut -f1\n");
  };
  EXPECT_EQ(completions("inferno gen"), "generate\n");
  EXPECT_EQ(completions("inferno bench comp"), "compare\n");
  EXPECT_EQ(completions("inferno bench compare --ga"), "--gate\n");
  EXPECT_EQ(completions("inferno bench generation --suite f"), "full\n");
  EXPECT_EQ(completions("inferno generate --kv-type "), "bf16\nf16\nf32\nq8_0\n") << "it sorts them";
  EXPECT_EQ(completions("inferno completion b"), "bash\n");
  EXPECT_EQ(completions("inferno generate --trace a"), "a big file.txt\na file.gguf\n");
  EXPECT_EQ(completions("inferno quantize a"), "a file.gguf\na big file.txt\n");
  EXPECT_EQ(completions("inferno generate a"), "a file.gguf\na big file.txt\n") << "models first";
  EXPECT_EQ(completions("inferno cache --remove a"), "a file.gguf\na big file.txt\n");
  EXPECT_EQ(completions("inferno help env"), "environment\n");
  EXPECT_EQ(completions("inferno quantize --threads 2 in.gguf out.gguf bf"), "bf16\n");
  EXPECT_EQ(completions("bench-generation --suite f"), "full\n");
  EXPECT_EQ(completions("inferno generate --seed a"), "");
}

// zsh completes at a prompt only: in place of its own functions stand two that print what they are told.
TEST(Completion, ZshFindsTheCommandAndTellsItsOptions) {
  if (!has_shell("zsh")) GTEST_SKIP() << "no zsh here";
  const auto told = [](const std::string& words) {
    return output_of("zsh",
                     "_arguments() { print -rl -- \"$@\" }\n_describe() { print -rl -- ${(P)2} }\n"
                     "compdef() { }\nsource ./inferno\nwords=(" +
                         words + ")\nCURRENT=$#words\n_inferno\n");
  };
  const auto has = [](const std::string& text, const std::string& line) {
    return ("\n" + text).find("\n" + line) != std::string::npos;
  };
  EXPECT_TRUE(has(told("inferno ''"), "generate:")) << told("inferno ''");
  EXPECT_TRUE(has(told("inferno bench ''"), "compare:"));
  const std::string generation = told("inferno bench generation ''");
  EXPECT_TRUE(has(generation, "(--suite)--suite=[")) << generation;
  EXPECT_NE(generation.find(":TIER:(quick standard full)\n"), std::string::npos) << generation;
  EXPECT_NE(generation.find(":FOLDER:_files -/\n"), std::string::npos);
  EXPECT_TRUE(has(told("inferno bench compare ''"), "1:A:_files\n*:B:_files\n"));
  EXPECT_TRUE(has(told("inferno generate ''"), "1:MODEL:_files -g \"*.gguf\"\n"));
  EXPECT_TRUE(has(told("inferno help ''"), "*:COMMAND:(environment generate "));
  EXPECT_TRUE(has(told("inferno completion ''"), "*:SHELL:(bash zsh fish)\n"));
}

TEST(Completion, EveryShellHasAScriptWithEveryOption) {
  for (const std::string shell : {"bash", "zsh", "fish"}) {
    const Finished finished = run_program("inferno", "completion " + shell);
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    for (const char* word :
         {"generate", "inspect", "tokenize", "logits", "synthesize", "repetition-penalty", "no-bos"}) {
      EXPECT_NE(finished.out.find(word), std::string::npos) << shell << " " << word;
    }
    const auto script = scratch_dir("completion_syntax") / "script";
    std::ofstream(script) << finished.out;
    // A shell that is not installed has nothing to say about its script.
    const std::string check = "! command -v " + shell + " >/dev/null || " + shell + " -n " + script.string();
    EXPECT_EQ(std::system(check.c_str()), 0) << finished.out;
  }
  EXPECT_EQ(run_program("inferno", "completion tcsh").exit_code, 2);
}

}  // namespace
}  // namespace inferno::test
