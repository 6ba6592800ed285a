#include "tokenizer/sentencepiece_bpe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "support/refusal.h"
#include "support/tiny_vocabulary.h"

namespace inferno::tokenizer {
namespace {

using test::sentencepiece_vocabulary;
using test::TinyVocabulary;

using Ids = std::vector<int32_t>;

std::shared_ptr<const Tokenizer> load_pieces(const TinyVocabulary& v) {
  const auto t = v.load();
  EXPECT_TRUE(t) << t.error().message;
  return *t;
}

TinyVocabulary without_space_prefix() {
  TinyVocabulary v = sentencepiece_vocabulary();
  const auto ids = v.extras;
  v.extras = [ids](gguf::Writer& w) {
    ids(w);
    w.add("tokenizer.ggml.add_space_prefix", false);
  };
  return v;
}

TEST(SentencePieceBpe, SpacesPrefixAndBos) {
  const TinyVocabulary v = sentencepiece_vocabulary();
  const auto t = load_pieces(v);
  EXPECT_EQ(*t->encode("hello"), (Ids{1, v.id("▁hello")}));
  EXPECT_EQ(*t->encode("hello", {.add_bos = false}), Ids{v.id("▁hello")});
  EXPECT_EQ(*t->encode("", {.add_bos = false}), Ids{});
  EXPECT_EQ(*t->encode(" ", {.add_bos = false}), Ids{v.id("▁▁")});
  EXPECT_EQ(*t->encode("hello hello", {.add_bos = false}), (Ids{v.id("▁hello"), v.id("▁hello")}));
  EXPECT_EQ(*load_pieces(without_space_prefix())->encode("hello hello", {.add_bos = false}),
            (Ids{v.id("hello"), v.id("▁hello")}));
}

TEST(SentencePieceBpe, ThePrefixStandsAfterEverySpecialToken) {
  const TinyVocabulary v = sentencepiece_vocabulary();
  EXPECT_EQ(*load_pieces(v)->encode("hello<s>hello</s>", {.add_bos = false}),
            (Ids{v.id("▁hello"), 1, v.id("▁hello"), 2}));
}

TEST(SentencePieceBpe, MergesTheHighestScoreFirstAndTheLeftmostOfEqualOnes) {
  TinyVocabulary v = without_space_prefix();
  v.add("xy", TokenType::kNormal, 5);
  v.add("yz", TokenType::kNormal, 6);
  EXPECT_EQ(*load_pieces(v)->encode("xyz", {.add_bos = false}), (Ids{v.id("x"), v.id("yz")}));
  v.scores[static_cast<size_t>(v.id("yz"))] = 5;
  EXPECT_EQ(*load_pieces(v)->encode("xyz", {.add_bos = false}), (Ids{v.id("xy"), v.id("z")}));
  v.scores[static_cast<size_t>(v.id("xy"))] = -0.0F;
  v.scores[static_cast<size_t>(v.id("yz"))] = 0.0F;
  EXPECT_EQ(*load_pieces(v)->encode("xyz", {.add_bos = false}), (Ids{v.id("xy"), v.id("z")}));
}

TEST(SentencePieceBpe, WordsThatATokenJoinsAreNotCutApart) {
  TinyVocabulary v = without_space_prefix();
  v.add("a▁", TokenType::kNormal, 9);
  const int32_t joined = v.add("a▁a", TokenType::kNormal, 10);
  EXPECT_EQ(*load_pieces(v)->encode("a a", {.add_bos = false}), Ids{joined});
  EXPECT_EQ(*load_pieces(v)->encode("b a", {.add_bos = false}), (Ids{v.id("b"), v.id("▁"), v.id("a")}));
}

TEST(SentencePieceBpe, UnknownCharactersFallBackToBytes) {
  const TinyVocabulary v = without_space_prefix();
  const auto t = load_pieces(v);
  EXPECT_EQ(*t->encode("aé\xFF\n", {.add_bos = false}),
            (Ids{v.id("a"), v.id("<0xC3>"), v.id("<0xA9>"), v.id("<0xFF>"), v.id("<0x0A>")}));
  for (int byte = 0; byte < 256; ++byte) {
    const std::string text(1, static_cast<char>(byte));
    EXPECT_EQ(*t->decode(*t->encode(text, {.add_bos = false})), text);
  }
  // Text that spells a byte token is text.
  const Ids ids = *t->encode("<0x41>", {.add_bos = false});
  EXPECT_EQ(std::count(ids.begin(), ids.end(), v.id("<0x41>")), 0);
  EXPECT_EQ(*t->decode(ids), "<0x41>");
}

TinyVocabulary without_bytes() {
  TinyVocabulary v = sentencepiece_vocabulary();
  for (size_t i = 0; i < v.tokens.size(); ++i) {
    if (v.types[i] == static_cast<int32_t>(TokenType::kByte)) {
      v.types[i] = static_cast<int32_t>(TokenType::kUnused);
    }
  }
  return v;
}

TEST(SentencePieceBpe, WithoutByteTokensTheUnknownIdStandsInAndMustBeThere) {
  TinyVocabulary v = without_bytes();
  EXPECT_EQ(*load_pieces(v)->encode("aéa", {.add_bos = false}), (Ids{v.id("▁"), v.id("a"), 0, v.id("a")}));
  v.extras = nullptr;
  EXPECT_REFUSED(v, "tokenizer.ggml.unknown_token_id: needed for a vocabulary");
}

TEST(SentencePieceBpe, RefusesBadByteTokens) {  // D4
  for (const char* spelling : {"<0x-1>", "<0xGG>", "<0x1FF>", "<0x>", "0x0A", "<0x0A", "<0X0A>", ""}) {
    TinyVocabulary v = sentencepiece_vocabulary();
    v.tokens[13] = spelling;  // <0x0A>
    EXPECT_REFUSED_AT(v, "tokenizer.ggml.tokens", 13,
                      fmt::format("\"{}\" has type BYTE, expected <0x00> to <0xFF>", spelling));
  }
  TinyVocabulary v = sentencepiece_vocabulary();
  v.tokens[13] = "<0x0B>";
  EXPECT_REFUSED_AT(v, "tokenizer.ggml.tokens", 14, "\"<0x0B>\" is the same byte as [13]");
  v = sentencepiece_vocabulary();
  v.types[13] = static_cast<int32_t>(TokenType::kNormal);
  EXPECT_REFUSED(v, "255 of the 256 byte tokens are there, <0x0A> is missing");
}

TEST(SentencePieceBpe, RefusesBadScores) {  // D1
  TinyVocabulary v = sentencepiece_vocabulary();
  v.left_out = {"tokenizer.ggml.scores"};
  EXPECT_REFUSED(v, "tokenizer.ggml.scores: missing");
  const auto ids = v.extras;
  v.extras = [&](gguf::Writer& w) {
    ids(w);
    w.add("tokenizer.ggml.scores", std::span<const int32_t>(v.types));
  };
  EXPECT_REFUSED(v, "tokenizer.ggml.scores at byte");
  EXPECT_REFUSED(v, "expected an array of f32, found an array of i32");
  v = sentencepiece_vocabulary();
  v.scores.pop_back();
  EXPECT_REFUSED(v, "expected 294 elements, one for each token, found 293");
  for (const float score :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    v = sentencepiece_vocabulary();
    v.scores[7] = score;
    EXPECT_REFUSED(v, "tokenizer.ggml.scores");
  }
}

TEST(SentencePieceBpe, DecodingDropsOnlyTheSpaceThatEncodingAdded) {
  const TinyVocabulary v = sentencepiece_vocabulary();
  const auto t = load_pieces(v);
  for (const std::string text : {"hello", " hello", "  hello", "", " ", "a b"}) {
    EXPECT_EQ(*t->decode(*t->encode(text, {.add_bos = false})), text);
  }
  EXPECT_EQ(*t->decode(Ids{1, v.id("▁hello")}), "<s> hello");
  EXPECT_EQ(*t->decode(Ids{1, v.id("▁hello")}, /*skip_special=*/true), "hello");
  EXPECT_EQ(*load_pieces(without_space_prefix())->decode(Ids{v.id("▁hello")}), " hello");
}

TEST(SentencePieceBpe, AMegabyteOfOneLetterIsNotQuadratic) {  // D7, D8
  const TinyVocabulary v = without_space_prefix();
  const auto t = load_pieces(v);
  EXPECT_EQ(*t->encode(std::string(1'000'000, 'a'), {.add_bos = false}), Ids(250'000, v.id("aaaa")));
  EXPECT_EQ(*t->encode(std::string(1'000'000, ' '), {.add_bos = false}), Ids(500'000, v.id("▁▁")));
  EXPECT_EQ(*t->encode(std::string(1'000'000, '\n'), {.add_bos = false}), Ids(1'000'000, v.id("<0x0A>")));
  EXPECT_EQ(*t->encode(std::string(1'000'000, '\xFF'), {.add_bos = false}), Ids(1'000'000, v.id("<0xFF>")));
}

}  // namespace
}  // namespace inferno::tokenizer
