// `inferno tokenize` and tokenizer-demo, called as a user calls them.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "base/json.h"
#include "support/run_program.h"
#include "support/shared_data.h"
#include "support/tiny_vocabulary.h"

namespace inferno::test {
namespace {

class Tokenize : public testing::Test {
 protected:
  void SetUp() override {
    TinyVocabulary v = sentencepiece_vocabulary();
    ids_ = {v.id("<s>"), v.id("▁hello")};
    const std::vector<std::byte> image = v.image();
    write_file(path_, image);
  }

  Finished tokenize(const std::string& arguments, const std::string& input = "") const {
    return run_program("inferno", "tokenize " + path_ + " " + arguments, input);
  }

  std::string path_ = (scratch_dir("tokenize") / "vocabulary.gguf").string();
  std::vector<int32_t> ids_;
};

TEST_F(Tokenize, PrintsTheIdsOnOneLine) {
  const Finished finished = tokenize("hello");
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(finished.out, fmt::format("{} {}\n", ids_[0], ids_[1]));
  EXPECT_EQ(finished.err, "");
  EXPECT_EQ(tokenize("hello --no-bos").out, fmt::format("{}\n", ids_[1]));
  EXPECT_EQ(tokenize("''").out, fmt::format("{}\n", ids_[0]));
}

TEST_F(Tokenize, TheTwoFlagsAndTheirSum) {
  EXPECT_EQ(tokenize("'<s>'").out, "1 1\n");
  EXPECT_EQ(tokenize("'<s>' --no-bos").out, "1\n");
  const std::string plain = tokenize("'<s>' --no-special").out;
  EXPECT_EQ(tokenize("'<s>' --no-bos --no-parse-special").out, plain);
  EXPECT_EQ(tokenize("'<s>' --no-parse-special").out, "1 " + plain);
}

TEST_F(Tokenize, ReadsTheTextFromAFileOrStandardInput) {
  EXPECT_EQ(tokenize("--file - --no-bos", "hello").out, fmt::format("{}\n", ids_[1]));
  const std::string text_path = (scratch_dir("tokenize_text") / "text").string();
  std::ofstream(text_path, std::ios::binary) << std::string("hello\0\xFF", 7);
  EXPECT_EQ(tokenize("--no-bos --file " + text_path).out, fmt::format("{} 3 258\n", ids_[1]));
  EXPECT_EQ(tokenize("--file " + text_path + "x").exit_code, 1);
}

TEST_F(Tokenize, PrintsOneJsonObject) {
  const auto object = parse_json(tokenize("--json --file -", "hello\xFF").out).value();
  EXPECT_EQ(object["ids"], (std::vector<int32_t>{ids_[0], ids_[1], 258}));
  EXPECT_EQ(object["pieces"], (std::vector<std::string>{"<s>", " hello", "\\xff"}));
  EXPECT_EQ(object["n_tokens"], 3);
  EXPECT_EQ(object["text"], "<s> hello\uFFFD");
}

TEST_F(Tokenize, ADashIsStandardInputWithoutItsLastNewline) {
  const std::string ids = tokenize("hello").out;
  EXPECT_EQ(tokenize("-", "hello\n").out, ids);
  EXPECT_EQ(tokenize("-", "hello").out, ids);
  EXPECT_NE(tokenize("-", "hello\n\n").out, ids) << "one of them";
}

TEST_F(Tokenize, UsageErrorsAreTwoAndOthersOne) {
  EXPECT_EQ(tokenize("").exit_code, 2);
  EXPECT_NE(
      run_program("inferno", "tokenize Hello").err.find("expected MODEL and TEXT, found \"Hello\" alone"),
      std::string::npos);
  EXPECT_EQ(tokenize("hello --file -").exit_code, 2);
  EXPECT_EQ(run_program("inferno", "tokenize").exit_code, 2);
  const Finished missing = run_program("inferno", "tokenize /nowhere.gguf hello");
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_EQ(missing.out, "");
  EXPECT_TRUE(missing.err.starts_with("error: /nowhere.gguf")) << missing.err;
}

TEST_F(Tokenize, TheDemoShowsIdsPiecesAndTheWayBack) {
  const Finished finished = run_program("tokenizer-demo", path_ + " 'hello hello'");
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(finished.out, fmt::format("tokenizer   llama, pretokenizer default, 294 tokens\n"
                                      "text        \"hello hello\", 11 bytes\n"
                                      "\n"
                                      "     #       id  piece\n"
                                      "     0        1  \"<s>\"  control\n"
                                      "     1  {0:>7}  \" hello\"\n"
                                      "     2  {0:>7}  \" hello\"\n"
                                      "\n"
                                      "tokens      3\n"
                                      "round trip  \"hello hello\", equal to the text\n",
                                      ids_[1]));
  const Finished other = run_program("tokenizer-demo", path_ + " 'a<s>b'");
  EXPECT_NE(other.out.find("round trip  \"a<s> b\", differs from the text\n"), std::string::npos)
      << other.out;
  EXPECT_NE(run_program("tokenizer-demo", path_).out.find("\"Hello, world!\""), std::string::npos);
}

}  // namespace
}  // namespace inferno::test
