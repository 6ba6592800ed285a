#include "tokenizer/vocabulary.h"

#include <gtest/gtest.h>

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
