// `inferno completion`: scripts that the shells accept and that complete.
#include <gtest/gtest.h>

#include <cstdlib>
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
