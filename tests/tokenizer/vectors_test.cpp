// Every string of ../shared/data/tokenizers against the ids that the models' own tokenizers give.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "base/json.h"
#include "base/text.h"
#include "gguf/file.h"
#include "support/shared_data.h"
#include "tokenizer/stream_decoder.h"
#include "tokenizer/tokenizer.h"

namespace inferno::tokenizer {
namespace {

std::shared_ptr<const Tokenizer> load_shared(const std::string& name) {
  const auto path = test::shared_data("tokenizers/gguf-vocab/" + name);
  const auto file = gguf::File::open(path.string());
  if (!file) throw std::runtime_error(file.error().message);
  const auto tokenizer = Tokenizer::from_gguf(*file);
  if (!tokenizer) throw std::runtime_error(tokenizer.error().message);
  return *tokenizer;
}

std::string streamed(const std::shared_ptr<const Tokenizer>& tokenizer, const std::vector<int32_t>& ids) {
  StreamDecoder decoder(tokenizer, /*continues=*/false);
  std::string text;
  for (const int32_t id : ids) {
    const std::string delta = decoder.push(id);
    EXPECT_TRUE(is_valid_utf8(delta)) << "half a character: " << quote(delta);
    text += delta;
  }
  EXPECT_EQ(decoder.flush(), "");
  return text;
}

struct HuggingFaceVectors {
  const char* vectors;
  const char* vocabulary;
};

class HuggingFace : public testing::TestWithParam<HuggingFaceVectors> {};

TEST_P(HuggingFace, IdsAndTextAreEqual) {
  REQUIRE_SHARED_DATA("tokenizers");
  const auto tokenizer = load_shared(GetParam().vocabulary);
  const auto vectors =
      parse_json(test::read_file(test::shared_data("tokenizers/vectors/" + std::string(GetParam().vectors))))
          .value();
  ASSERT_GT(vectors["cases"].size(), 40U);
  for (const auto& vector : vectors["cases"]) {
    const auto text = vector["text"].get<std::string>();
    SCOPED_TRACE(quote(text));
    const auto ids = tokenizer->encode(text, {.add_bos = false});
    ASSERT_TRUE(ids);
    EXPECT_EQ(*ids, vector["ids"].get<std::vector<int32_t>>());
    EXPECT_EQ(*tokenizer->encode(text), vector["ids_with_special"].get<std::vector<int32_t>>());
    const std::string decoded = vector["decoded"].is_null() ? "" : vector["decoded"].get<std::string>();
    EXPECT_EQ(*tokenizer->decode(*ids), decoded);
    EXPECT_EQ(streamed(tokenizer, *ids), decoded);
  }
}

INSTANTIATE_TEST_SUITE_P(All, HuggingFace,
                         testing::Values(HuggingFaceVectors{"gemma3.json", "vocab-gemma3.gguf"},
                                         HuggingFaceVectors{"llama2.json", "ggml-vocab-llama-spm.gguf"},
                                         HuggingFaceVectors{"llama3_2.json", "vocab-llama3.gguf"},
                                         HuggingFaceVectors{"qwen3.json", "vocab-qwen3.gguf"}));

struct PeerVectors {
  const char* vectors;  // the file name of .inp and .out
  const char* vocabulary;
};

class PeerVocabulary : public testing::TestWithParam<PeerVectors> {};

std::vector<std::string> split_inputs(const std::string& content) {
  const std::string separator = "\n__ggml_vocab_test__\n";
  std::vector<std::string> inputs;
  size_t begin = 0;
  for (size_t at = content.find(separator); at != std::string::npos; at = content.find(separator, begin)) {
    inputs.push_back(content.substr(begin, at - begin));
    begin = at + separator.size();
  }
  return inputs;  // what follows the last separator is not a case
}

TEST_P(PeerVocabulary, IdsAreEqual) {
  REQUIRE_SHARED_DATA("tokenizers");
  const auto tokenizer = load_shared(GetParam().vocabulary);
  const std::string base = "tokenizers/gguf-vocab/" + std::string(GetParam().vectors) + ".gguf";
  const auto inputs = split_inputs(test::read_file(test::shared_data(base + ".inp")));
  ASSERT_EQ(inputs.size(), 46U);
  std::istringstream outputs(test::read_file(test::shared_data(base + ".out")));
  for (const std::string& text : inputs) {
    SCOPED_TRACE(quote(text));
    std::string line;
    ASSERT_TRUE(std::getline(outputs, line));
    std::istringstream numbers(line);
    const std::vector<int32_t> expected(std::istream_iterator<int32_t>(numbers), {});
    EXPECT_EQ(*tokenizer->encode(text, {.add_bos = false}), expected);
    EXPECT_EQ(*tokenizer->decode(expected), text);  // no input needs normalization
  }
}

INSTANTIATE_TEST_SUITE_P(All, PeerVocabulary,
                         testing::Values(PeerVectors{"ggml-vocab-deepseek-llm",
                                                     "ggml-vocab-deepseek-llm.gguf"},
                                         PeerVectors{"ggml-vocab-gpt-2", "ggml-vocab-gpt-2.gguf"},
                                         PeerVectors{"ggml-vocab-llama-bpe", "vocab-llama3.gguf"},
                                         PeerVectors{"ggml-vocab-llama-spm", "ggml-vocab-llama-spm.gguf"},
                                         PeerVectors{"ggml-vocab-phi-3", "ggml-vocab-phi-3.gguf"},
                                         PeerVectors{"ggml-vocab-qwen2", "vocab-qwen3.gguf"},
                                         PeerVectors{"ggml-vocab-starcoder", "ggml-vocab-starcoder.gguf"}));

}  // namespace
}  // namespace inferno::tokenizer
