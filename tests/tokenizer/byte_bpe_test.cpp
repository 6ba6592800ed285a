#include "tokenizer/byte_bpe.h"

#include <gtest/gtest.h>

#include <random>

#include "support/refusal.h"
#include "support/tiny_vocabulary.h"
#include "tokenizer/unicode.h"

namespace inferno::tokenizer {
namespace {

using test::byte_level_vocabulary;
using test::TinyVocabulary;

using Ids = std::vector<int32_t>;

std::shared_ptr<const Tokenizer> load(const TinyVocabulary& v) {
  const auto t = v.load();
  EXPECT_TRUE(t) << t.error().message;
  return *t;
}

std::string round_trip(const Tokenizer& t, std::string_view text) {
  return *t.decode(*t.encode(text));
}

TEST(ByteBpe, MergesByRankLeftmostFirst) {
  const TinyVocabulary v = byte_level_vocabulary();
  const auto t = load(v);
  EXPECT_EQ(*t->encode("hello world"), (Ids{v.id("hello"), v.id("Ġworld")}));
  EXPECT_EQ(*t->encode("helll"), (Ids{v.id("hell"), v.id("l")}));
  EXPECT_EQ(*t->encode("aaaaaaa"), (Ids{v.id("aaaa"), v.id("aa"), v.id("a")}));
  EXPECT_EQ(*t->encode("é"), Ids{v.id("Ã©")});
  EXPECT_EQ(*t->encode(""), Ids{});
}

TEST(ByteBpe, ALaterMergeMayNeedAnEarlierRank) {
  TinyVocabulary v = byte_level_vocabulary();
  v.add("abc");
  v.add("bc");
  v.merges.insert(v.merges.begin(), {"a bc", "b c"});  // the product of rank 1 makes rank 0 possible
  EXPECT_EQ(*load(v)->encode("abcbc"), (Ids{v.id("abc"), v.id("bc")}));
}

TEST(ByteBpe, WholePiecesThatAreTokensGoFirstOnlyForLlama3) {
  for (const auto& [pre, n_tokens] : {std::pair{"llama-bpe", 1U}, std::pair{"qwen2", 2U}}) {
    TinyVocabulary v = byte_level_vocabulary(pre);
    v.add("xy");  // no merge leads there
    EXPECT_EQ(load(v)->encode("xy")->size(), n_tokens) << pre;
  }
}

TEST(ByteBpe, RefusesAVocabularyWithoutAByteOfOrdinaryText) {  // D4
  TinyVocabulary v = byte_level_vocabulary();
  v.tokens[0x0A] = "nothing";
  EXPECT_REFUSED(v, "no NORMAL token \"Ċ\" for byte 0x0A");
  v = byte_level_vocabulary();
  v.types['a'] = static_cast<int32_t>(TokenType::kControl);
  EXPECT_REFUSED(v, "for byte 0x61");
}

TEST(ByteBpe, BytesThatUtf8NeverHasMayBeMissing) {
  TinyVocabulary v = byte_level_vocabulary("gpt-2");
  v.tokens[0xF8] = "nothing";
  const int32_t o_slash = v.add("ø", TokenType::kUserDefined);  // spelled like the letter of byte 0xF8
  const auto t = load(v);
  EXPECT_EQ(*t->encode("ø"), Ids{o_slash});
  EXPECT_EQ(*t->decode(Ids{o_slash}), "ø");
  EXPECT_EQ(*t->encode("a\xF8z"), (Ids{'a', 'z'}));
}

TEST(ByteBpe, AddedTokensTypedAsNormalStandForThemselves) {
  TinyVocabulary v = byte_level_vocabulary();
  const int32_t id = v.add("[a b]");  // a space is no letter of the alphabet
  EXPECT_EQ(load(v)->piece(id), "[a b]");
}

TEST(ByteBpe, EveryStringOfOneOrTwoBytesComesBack) {  // D10, D12
  for (const std::string pre : {"gpt-2", "llama-bpe", "qwen2", "starcoder", "deepseek-llm"}) {
    const auto t = load(byte_level_vocabulary(pre));
    for (int first = 0; first < 256; ++first) {
      for (int second = -1; second < 256; ++second) {
        std::string text(1, static_cast<char>(first));
        if (second >= 0) text += static_cast<char>(second);
        const bool becomes_nfc = pre == "qwen2" && valid_utf8_length(text) == text.size();
        ASSERT_EQ(round_trip(*t, text), becomes_nfc ? nfc(text) : text)
            << pre << " " << first << " " << second;
      }
    }
  }
}

void append_code_point(uint32_t c, std::string& text) {
  if (c < 0x80) {
    text += static_cast<char>(c);
    return;
  }
  const int tail_bytes = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  const uint32_t lead = c < 0x800 ? 0xC0 : c < 0x10000 ? 0xE0 : 0xF0;
  text += static_cast<char>(lead | (c >> (6 * tail_bytes)));
  for (int i = tail_bytes - 1; i >= 0; --i) text += static_cast<char>(0x80 | ((c >> (6 * i)) & 0x3F));
}

TEST(ByteBpe, EveryCodePointComesBackInNfcForQwen) {  // D12
  const auto plain = load(byte_level_vocabulary("gpt-2"));
  const auto normalizing = load(byte_level_vocabulary("qwen2"));
  for (uint32_t begin = 0; begin < 0x110000; begin += 0x100) {
    if (begin >= 0xD800 && begin < 0xE000) continue;
    std::string text;
    for (uint32_t c = begin; c < begin + 0x100; ++c) {
      append_code_point(c, text);
      text += ' ';
    }
    ASSERT_EQ(round_trip(*plain, text), text) << begin;
    ASSERT_EQ(round_trip(*normalizing, text), nfc(text)) << begin;
  }
}

TEST(ByteBpe, InvalidRunsBypassNormalization) {
  const TinyVocabulary v = byte_level_vocabulary("qwen2");
  const auto t = load(v);
  EXPECT_EQ(round_trip(*t,
                       "e\u0301\xFF\xC3"
                       "e\u0301"),
            "\u00E9\xFF\xC3\u00E9");
  EXPECT_EQ(round_trip(*t, "e\xFF\u0301"), "e\xFF\u0301");  // they do not compose across it
  EXPECT_EQ(*t->encode("hello\xFFhello"), (Ids{v.id("hello"), 0xFF, v.id("hello")}));
  EXPECT_EQ(*t->encode("\xC3"), Ids{0xC3});
}

TEST(ByteBpe, RandomBytesComeBack) {  // D10
  const auto t = load(byte_level_vocabulary("llama-bpe"));
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    std::string text(random() % 64, '\0');
    for (char& c : text) c = static_cast<char>(i % 2 == 0 ? random() % 256 : 0x60 + random() % 0x90);
    ASSERT_EQ(round_trip(*t, text), text);
  }
}

// A merge loop that looks at the whole piece after each merge would take hours.
TEST(ByteBpe, AMegabyteOfOneLetterIsNotQuadratic) {  // D7, D8
  const TinyVocabulary v = byte_level_vocabulary("gpt-2");
  const auto t = load(v);
  const std::string letters(1'000'000, 'a');
  EXPECT_EQ(*t->encode(letters), Ids(250'000, v.id("aaaa")));
  const std::string spaces(1'000'000, ' ');
  EXPECT_EQ(*t->encode(spaces), Ids(500'000, v.id("ĠĠ")));
  EXPECT_EQ(t->encode(std::string(131'072, 'Z'))->size(), 131'072U);
  std::string cjk;
  for (int i = 0; i < 26'000; ++i) cjk += "语";
  EXPECT_EQ(t->encode(cjk)->size(), 78'000U);
  EXPECT_EQ(t->encode(std::string(1'000'000, '\xFF'))->size(), 1'000'000U);
}

}  // namespace
}  // namespace inferno::tokenizer
