#include "tokenizer/vocabulary.h"

#include <gtest/gtest.h>

#include <array>
#include <span>

#include "support/refusal.h"
#include "support/tiny_vocabulary.h"

namespace inferno::tokenizer {
namespace {

using test::byte_level_vocabulary;
using test::sentencepiece_vocabulary;
using test::TinyVocabulary;

TEST(Vocabulary, FindsTokensBySpellingAndGivesTheirTypes) {
  const TinyVocabulary v = byte_level_vocabulary();
  const auto t = v.load();
  ASSERT_TRUE(t) << t.error().message;
  EXPECT_EQ((*t)->vocab_size(), static_cast<int32_t>(v.tokens.size()));
  for (int32_t id = 0; id < (*t)->vocab_size(); ++id) {
    EXPECT_EQ((*t)->spelling(id), v.tokens[static_cast<size_t>(id)]);
    EXPECT_EQ((*t)->find(v.tokens[static_cast<size_t>(id)]), id);
  }
  EXPECT_EQ((*t)->type(v.id("<|end|>")), TokenType::kControl);
  EXPECT_FALSE((*t)->find("nowhere"));
  EXPECT_FALSE((*t)->find(""));
  EXPECT_FALSE((*t)->valid(-1));
  EXPECT_FALSE((*t)->valid((*t)->vocab_size()));
}

TEST(Vocabulary, FindsSpellingsTogetherAsOneByOne) {
  TinyVocabulary v = byte_level_vocabulary();
  v.add(v.tokens[5]);  // the first is found
  const std::vector<std::byte> image = v.image();
  const auto file = gguf::File::from_memory(image, "tiny.gguf");
  ASSERT_TRUE(file);
  const auto vocabulary = Vocabulary::load(*file);
  ASSERT_TRUE(vocabulary);
  std::vector<std::string_view> spellings = {"", "nowhere"};
  for (const std::string& token : v.tokens) spellings.push_back(token);
  for (size_t n = 0; n <= Vocabulary::kFoundTogether; ++n) {
    const auto some = std::span(spellings).last(n);
    std::array<int32_t, Vocabulary::kFoundTogether> ids;
    vocabulary->find_together(some, ids);
    for (size_t i = 0; i < n; ++i) EXPECT_EQ(ids[i], vocabulary->find(some[i]).value_or(-1));
  }
  std::array<int32_t, 8> ids;
  vocabulary->find_together(std::span(spellings).first(8), ids);
  EXPECT_EQ(ids[0], -1);
  EXPECT_EQ(ids[1], -1);
  EXPECT_EQ(ids[7], 5);
}

TEST(Vocabulary, RefusesMissingTokens) {
  TinyVocabulary v = byte_level_vocabulary();
  v.left_out = {"tokenizer.ggml.tokens"};
  EXPECT_REFUSED(v, "tokenizer.ggml.tokens");
  v = byte_level_vocabulary();
  v.left_out = {"tokenizer.ggml.token_type"};
  EXPECT_REFUSED(v, "tokenizer.ggml.token_type: missing");
  v = byte_level_vocabulary();
  v.tokens.clear();
  EXPECT_REFUSED(v, "tokenizer.ggml.tokens");
}

TEST(Vocabulary, RefusesTypesOfAnotherLength) {  // D1
  TinyVocabulary v = byte_level_vocabulary();
  v.types.pop_back();
  EXPECT_REFUSED(v, "tokenizer.ggml.token_type at byte");
  EXPECT_REFUSED(v, "expected 271 elements, one for each token, found 270");
  v.types.resize(v.tokens.size() + 1, 1);
  EXPECT_REFUSED(v, "found 272");
}

TEST(Vocabulary, RefusesTypesOfAnotherElementType) {  // D1
  TinyVocabulary v = byte_level_vocabulary();
  v.left_out = {"tokenizer.ggml.token_type"};
  v.extras = [&](gguf::Writer& w) {
    const std::vector<float> types(v.tokens.size(), 1.0F);
    w.add("tokenizer.ggml.token_type", std::span<const float>(types));
  };
  EXPECT_REFUSED(v, "tokenizer.ggml.token_type at byte");
  EXPECT_REFUSED(v, "expected an array of i32, found an array of f32");
  v.extras = [](gguf::Writer& w) { w.add("tokenizer.ggml.token_type", int32_t{1}); };
  EXPECT_REFUSED(v, "expected an array of i32, found i32");
}

TEST(Vocabulary, RefusesTypesThatDoNotExist) {
  for (const int32_t type : {-1, 0, 7, 1 << 30}) {
    TinyVocabulary v = byte_level_vocabulary();
    v.types[5] = type;
    EXPECT_REFUSED_AT(v, "tokenizer.ggml.token_type", 5, "is " + std::to_string(type));
  }
}

TEST(Vocabulary, RefusesInvalidUtf8InATokenWhereTheReaderLetItPass) {  // D5
  TinyVocabulary v = byte_level_vocabulary();
  v.add("\xC3(");
  EXPECT_REFUSED(v, "UTF-8");
}

TEST(Vocabulary, RefusesVeryLongTokens) {  // D5
  TinyVocabulary v = byte_level_vocabulary();
  v.add(std::string(16 * 1024, 'x'));
  EXPECT_TRUE(v.load());
  const int32_t long_id = v.add(std::string(16 * 1024 + 1, 'x'));
  EXPECT_REFUSED_AT(v, "tokenizer.ggml.tokens", static_cast<uint64_t>(long_id), "has 16385 bytes");
  v = byte_level_vocabulary();
  v.add(std::string(1025, 'x'), TokenType::kControl);
  EXPECT_REFUSED(v, "has 1025 bytes, at most 1024 are allowed for its type");
}

TEST(Vocabulary, OfDuplicatesTheFirstIsFoundAndAllDecode) {  // D5
  TinyVocabulary v = byte_level_vocabulary();
  const int32_t again = v.add("hello");
  const auto t = v.load();
  ASSERT_TRUE(t) << t.error().message;
  EXPECT_EQ(*(*t)->encode("hello"), std::vector<int32_t>{v.id("hello")});
  EXPECT_EQ(*(*t)->decode(std::vector<int32_t>{again}), "hello");
}

TEST(Vocabulary, EmptyTokensAreNeverMatchedAndDecodeToNothing) {  // D5
  for (const TokenType type : {TokenType::kNormal, TokenType::kUserDefined, TokenType::kUnused}) {
    TinyVocabulary v = sentencepiece_vocabulary();
    const int32_t empty = v.add("", type);
    const auto t = v.load();
    ASSERT_TRUE(t) << t.error().message;
    EXPECT_EQ(*(*t)->encode("hello", {.add_bos = false}), std::vector<int32_t>{v.id("▁hello")});
    EXPECT_EQ((*t)->piece(empty), "");
  }
}

}  // namespace
}  // namespace inferno::tokenizer
