#include "tokenizer/pretokenizer.h"

#include <gtest/gtest.h>

#include "support/refusal.h"
#include "support/tiny_vocabulary.h"

namespace inferno::tokenizer {
namespace {

using Pieces = std::vector<std::string_view>;

Pieces split(const char* name, std::string_view text) {
  const auto pretokenizer = Pretokenizer::find(name);
  EXPECT_TRUE(pretokenizer);
  return pretokenizer->split(text);
}

constexpr const char* kNames[] = {"gpt-2", "phi-2",     "llama-bpe", "llama3",      "llama-v3",
                                  "qwen2", "starcoder", "smollm",    "deepseek-llm"};

TEST(Pretokenizer, UnknownNamesAreRefusedWithTheKnownOnes) {  // D6
  for (const char* name : {"", "default", "qwen", "Qwen2", "qwen2 ", "llama4"}) {
    test::TinyVocabulary v = test::byte_level_vocabulary(name);
    EXPECT_REFUSED(v, fmt::format("tokenizer.ggml.pre at byte "));
    EXPECT_REFUSED(v, fmt::format("unknown pretokenizer \"{}\"; known are gpt-2, phi-2, llama-bpe", name));
  }
  test::TinyVocabulary v = test::byte_level_vocabulary();
  v.left_out = {"tokenizer.ggml.pre"};
  EXPECT_REFUSED(v, "tokenizer.ggml.pre");
  test::TinyVocabulary s = test::sentencepiece_vocabulary();
  s.pre = "qwen2";
  EXPECT_REFUSED(s, "unknown pretokenizer \"qwen2\" of a \"llama\" tokenizer");
}

TEST(Pretokenizer, Gpt2) {
  EXPECT_EQ(split("gpt-2", "I'm here 1234, ok!!\n\n x"),
            (Pieces{"I", "'m", " here", " 1234", ",", " ok", "!!", "\n\n", " x"}));
  EXPECT_EQ(split("gpt-2", "I'M   x  "), (Pieces{"I", "'", "M", "  ", " x", "  "}));
}

TEST(Pretokenizer, Llama3) {
  EXPECT_EQ(split("llama-bpe", "I'M 12345 \"x\" ok!\n\n  y\n"),
            (Pieces{"I", "'M", " ", "123", "45", " \"", "x", "\"", " ok", "!\n\n", " ", " y", "\n"}));
}

TEST(Pretokenizer, Qwen2) {
  EXPECT_EQ(split("qwen2", "it's 123\t\n \n a"), (Pieces{"it", "'s", " ", "1", "2", "3", "\t\n \n", " a"}));
}

TEST(Pretokenizer, Starcoder) {
  EXPECT_EQ(split("starcoder", "ab 12  3"), (Pieces{"ab", " ", "1", "2", "  ", "3"}));
}

TEST(Pretokenizer, DeepseekLlm) {
  EXPECT_EQ(split("deepseek-llm", "Hi 你好, x12\r\n"),
            (Pieces{"Hi", " ", "你好", ",", " x", "1", "2", "\r", "\n"}));
}

TEST(Pretokenizer, DeepseekLlmSplitsTrailingSpaceOff) {
  EXPECT_EQ(split("deepseek-llm", "שלום  "), (Pieces{"שלום", "  "}));
  EXPECT_EQ(split("deepseek-llm", "  שלום"), (Pieces{"  שלום"}));
  EXPECT_EQ(split("deepseek-llm", "   \n"), (Pieces{"   ", "\n"}));
}

TEST(Pretokenizer, WhiteSpaceIsUnicodes) {
  // U+0085 is white space, U+180E and U+200B are not.
  EXPECT_EQ(split("gpt-2", "a\u0085\u0085b"), (Pieces{"a", "\u0085", "\u0085", "b"}));
  EXPECT_EQ(split("gpt-2", "!\u180E"), (Pieces{"!\u180E"}));
  EXPECT_EQ(split("gpt-2", "!\u200B"), (Pieces{"!\u200B"}));
  EXPECT_EQ(split("gpt-2", "!\u3000"), (Pieces{"!", "\u3000"}));
}

TEST(Pretokenizer, PiecesAreTheText) {
  std::string text;
  for (char32_t c = 0; c < 0x30000; c += 7) {
    if (c >= 0xD800 && c < 0xE000) continue;
    if (c < 0x80) {
      text += static_cast<char>(c);
    } else if (c < 0x800) {
      text += {static_cast<char>(0xC0 | (c >> 6)), static_cast<char>(0x80 | (c & 63))};
    } else if (c < 0x10000) {
      text += {static_cast<char>(0xE0 | (c >> 12)), static_cast<char>(0x80 | ((c >> 6) & 63)),
               static_cast<char>(0x80 | (c & 63))};
    } else {
      text += {static_cast<char>(0xF0 | (c >> 18)), static_cast<char>(0x80 | ((c >> 12) & 63)),
               static_cast<char>(0x80 | ((c >> 6) & 63)), static_cast<char>(0x80 | (c & 63))};
    }
  }
  for (const char* name : kNames) {
    std::string joined;
    for (const std::string_view piece : split(name, text)) {
      ASSERT_FALSE(piece.empty());
      joined += piece;
    }
    EXPECT_TRUE(joined == text) << name;
  }
}

// A match that backs up over the whole run at every position would take minutes.
TEST(Pretokenizer, LongRunsAreNotQuadratic) {  // D7
  const auto repeated = [](std::string_view unit, size_t n) {
    std::string text;
    for (size_t i = 0; i < n; ++i) text += unit;
    return text;
  };
  const size_t n = 300'000;
  for (const char* name : kNames) {
    for (const std::string_view unit : {"A", " ", "\n", "_", "1", "'", "\u3000", "语", " \n", "\t ", "'S"}) {
      for (const std::string_view end : {"", "a", "\n", "!", "1", "語", "\u0661", "\u05D0"}) {
        const std::string text = repeated(unit, n / unit.size()) + std::string(end);
        size_t total = 0;
        for (const std::string_view piece : split(name, text)) total += piece.size();
        ASSERT_EQ(total, text.size());
      }
    }
  }
}

}  // namespace
}  // namespace inferno::tokenizer
