#include "tokenizer/unicode.h"

#include <gtest/gtest.h>
#include <utf8proc.h>

#include <string>

namespace inferno::tokenizer {
namespace {

TEST(Unicode, LengthOfWellFormedCharacters) {
  EXPECT_EQ(utf8_char_length("a"), 1U);
  EXPECT_EQ(utf8_char_length(std::string_view("\0", 1)), 1U);
  EXPECT_EQ(utf8_char_length("é"), 2U);
  EXPECT_EQ(utf8_char_length("语x"), 3U);
  EXPECT_EQ(utf8_char_length("🦙"), 4U);
  EXPECT_EQ(utf8_char_length("\xED\x9F\xBF"), 3U);      // U+D7FF
  EXPECT_EQ(utf8_char_length("\xEE\x80\x80"), 3U);      // U+E000
  EXPECT_EQ(utf8_char_length("\xF4\x8F\xBF\xBF"), 4U);  // U+10FFFF
}

TEST(Unicode, IllFormedSequencesAreNoCharacters) {  // D10
  for (const std::string_view text :
       {"", "\x80", "\xBF", "\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xF0\x8F\xBF\xBF", "\xED\xA0\x80",
        "\xED\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF", "\xC3", "\xE8\xAF", "\xF0\x9F\xA6",
        "\xC3(", "\xE8(\xAD", "\xE8\xAF("}) {
    EXPECT_EQ(utf8_char_length(text), 0U);
  }
}

TEST(Unicode, ValidAndInvalidRuns) {
  EXPECT_EQ(valid_utf8_length("añb\xFFz"), 4U);
  EXPECT_EQ(valid_utf8_length("\xFFz"), 0U);
  EXPECT_EQ(valid_utf8_length("語"), 3U);
  EXPECT_EQ(invalid_utf8_length("\xFF\xC3(z"), 2U);
  EXPECT_EQ(invalid_utf8_length("z\xFF"), 0U);
  EXPECT_EQ(invalid_utf8_length("\x80\x80"), 2U);
}

TEST(Nfc, ComposesAndReorders) {
  EXPECT_EQ(nfc(""), "");
  EXPECT_EQ(nfc("plain"), "plain");
  EXPECT_EQ(nfc("e\u0301"), "\u00E9");
  EXPECT_EQ(nfc("\u212B"), "\u00C5");                // ANGSTROM SIGN
  EXPECT_EQ(nfc("\u1112\u1161\u11AB"), "\uD55C");    // Hangul jamo
  EXPECT_EQ(nfc("q\u0307\u0323"), "q\u0323\u0307");  // the mark below goes first
  EXPECT_EQ(nfc("s\u0307\u0323"), "\u1E69");         // and then both compose
  EXPECT_EQ(nfc("\u0958"), "\u0915\u093C");          // a composition exclusion
  EXPECT_EQ(nfc("\uFB01"), "\uFB01");                // compatibility characters stay
  EXPECT_EQ(nfc(std::string("a\0e\u0301", 5)), std::string("a\0\u00E9", 4));
}

TEST(Nfc, LongRunsOfMarksAreNotQuadratic) {
  std::string marks = "a";
  std::string above;
  std::string beside;
  for (int i = 0; i < 200'000; ++i) {
    marks += "\u0315\u0300";  // classes 232 and 230: every pair is in the wrong order
    if (i > 0) above += "\u0300";
    beside += "\u0315";
  }
  EXPECT_TRUE(nfc(marks) == "\u00E0" + above + beside);
}

std::string utf8(const int32_t* code_points, int n) {
  std::string text;
  for (int i = 0; i < n; ++i) {
    utf8proc_uint8_t bytes[4];
    const auto length = utf8proc_encode_char(code_points[i], bytes);
    text.append(bytes, bytes + length);
  }
  return text;
}

TEST(Nfc, NothingComposesOrReordersAcrossACut) {
  int n_cuts = 0;
  for (int32_t c = 0; c < 0x30000; ++c) {
    if (c >= 0xD800 && c < 0xE000) continue;  // surrogates
    const std::string text = utf8(&c, 1);
    if (starts_nfc(text)) {
      ++n_cuts;
      // Iota subscript: a mark of the highest class.
      ASSERT_EQ(nfc("\u03B1\u0345" + text), "\u1FB3" + nfc(text)) << c;
    }
    int32_t parts[8];
    const auto n = static_cast<int>(utf8proc_decompose_char(c, parts, 8, UTF8PROC_DECOMPOSE, nullptr));
    const std::string decomposed = utf8(parts, n);
    if (nfc(decomposed) == decomposed) continue;  // it is not composed again
    for (int i = 1; i < n; ++i) ASSERT_FALSE(starts_nfc(utf8(parts + i, 1))) << c;
  }
  EXPECT_GT(n_cuts, 100'000);
  EXPECT_TRUE(starts_nfc("a") && starts_nfc("中") && starts_nfc("がx") && starts_nfc("한") &&
              starts_nfc("😀"));
  EXPECT_FALSE(starts_nfc("\u0301") || starts_nfc("\u3099") || starts_nfc("\u1161"));
}

}  // namespace
}  // namespace inferno::tokenizer
