#include "tokenizer/special_matcher.h"

#include <gtest/gtest.h>

#include "support/tiny_vocabulary.h"

namespace inferno::tokenizer {
namespace {

using test::byte_level_vocabulary;
using test::TinyVocabulary;

std::vector<std::string> pieces(const TinyVocabulary& v, const std::string& text,
                                EncodeOptions options = {}) {
  const auto t = v.load();
  EXPECT_TRUE(t);
  std::vector<std::string> result;
  const std::vector<int32_t> ids = *(*t)->encode(text, options);
  for (const int32_t id : ids) {
    if ((*t)->is_special(id)) result.emplace_back((*t)->spelling(id));
  }
  EXPECT_EQ(*(*t)->decode(ids), text);
  return result;
}

TEST(SpecialMatcher, TheLeftmostAndOfThoseTheLongestWins) {
  TinyVocabulary v = byte_level_vocabulary();
  for (const char* token : {"<a>", "<a>b", "<a>bcd", "a><", "b<a>"}) v.add(token, TokenType::kUserDefined);
  EXPECT_EQ(pieces(v, "<a>"), (std::vector<std::string>{"<a>"}));
  EXPECT_EQ(pieces(v, "<a>bc"), (std::vector<std::string>{"<a>b"}));
  EXPECT_EQ(pieces(v, "<a>bcd<a>"), (std::vector<std::string>{"<a>bcd", "<a>"}));
  EXPECT_EQ(pieces(v, "x<a><a>"), (std::vector<std::string>{"<a>", "<a>"}));
  EXPECT_EQ(pieces(v, "b<a>b"), (std::vector<std::string>{"b<a>"}));
  EXPECT_EQ(pieces(v, "<a"), (std::vector<std::string>{}));
}

TEST(SpecialMatcher, ControlTokensAreTextWhereTheyAreNotAllowed) {  // D11
  const TinyVocabulary v = byte_level_vocabulary();
  const std::string text = "a<|end|><think>b";
  EXPECT_EQ(pieces(v, text), (std::vector<std::string>{"<|end|>", "<think>"}));
  EXPECT_EQ(pieces(v, text, {.parse_special = false}), (std::vector<std::string>{"<think>"}));
}

TEST(SpecialMatcher, TextIsNeverMergedIntoAControlToken) {  // D11
  TinyVocabulary v = test::sentencepiece_vocabulary();
  for (const char* piece : {"<s", "s>", "<", ">"}) v.add(piece, TokenType::kNormal, -1);
  const auto t = v.load();
  ASSERT_TRUE(t);
  const std::vector<int32_t> ids = *(*t)->encode("<s>", {.add_bos = false, .parse_special = false});
  for (const int32_t id : ids) {
    EXPECT_FALSE((*t)->is_special(id)) << (*t)->spelling(id);
  }
  EXPECT_EQ(*(*t)->encode("<s>", {.add_bos = false}), std::vector<int32_t>{v.id("<s>")});

  TinyVocabulary b = byte_level_vocabulary("llama-bpe");  // takes whole pieces that are tokens
  b.add("stop", TokenType::kControl);
  EXPECT_EQ((*b.load())->encode("stop", {.parse_special = false})->size(), 4U);
}

TEST(SpecialMatcher, ThousandsOfTokensAndAMegabyteOfNearMisses) {
  TinyVocabulary v = byte_level_vocabulary();
  for (int i = 0; i < 6000; ++i) v.add(fmt::format("<unused{}>", i), TokenType::kUserDefined);
  const auto t = v.load();
  ASSERT_TRUE(t);
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += "<unused599";
  const std::vector<int32_t> ids = *(*t)->encode(text);
  EXPECT_TRUE(*(*t)->decode(ids) == text);
  for (const int32_t id : ids) ASSERT_FALSE((*t)->is_special(id));
}

TEST(SpecialMatcher, AMatchIsSettledOnceNoTextCanChangeIt) {
  TinyVocabulary v = byte_level_vocabulary();
  for (const char* token : {"<a>", "<a>bcd"}) v.add(token, TokenType::kUserDefined);
  const std::vector<std::byte> image = v.image();
  const auto file = gguf::File::from_memory(image, "tiny.gguf");
  const auto vocabulary = Vocabulary::load(*file);
  ASSERT_TRUE(vocabulary);
  const SpecialMatcher matcher(*vocabulary, {TokenType::kUserDefined});
  const auto length = [&](std::string_view text) {
    const auto settled = matcher.find_settled(text, 0);
    EXPECT_EQ(settled.before, 1u) << text;
    return settled.match ? settled.match->length : 0;
  };
  EXPECT_EQ(length("x"), 0u);
  EXPECT_EQ(length("x<a"), 0u);
  EXPECT_EQ(length("x<a>"), 0u) << "it may become <a>bcd";
  EXPECT_EQ(length("x<a>bc"), 0u);
  EXPECT_EQ(length("x<a>bx"), 3u);
  EXPECT_EQ(length("x<a>bcd"), 6u);
}

}  // namespace
}  // namespace inferno::tokenizer
