#include "base/text.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace inferno {
namespace {

using namespace std::string_literals;

TEST(Text, JoinsWhatFmtWrites) {
  EXPECT_EQ(join(std::vector<std::string>(), ", "), "");
  EXPECT_EQ(join(std::vector<int>{7}, ", "), "7");
  EXPECT_EQ(join(std::vector<const char*>{"a", "", "c"}, ", "), "a, , c");
}

TEST(Text, TimesAreUtc) {
  EXPECT_EQ(utc_time(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(utc_time(1'700'000'000), "2023-11-14T22:13:20Z");
}

TEST(TextQuoted, LeavesPrintableTextAsItIs) {
  EXPECT_EQ(quote(""), "\"\"");
  EXPECT_EQ(quote(" there"), "\" there\"");
  EXPECT_EQ(quote("naïve 東京 🦙 👍🏽"), "\"naïve 東京 🦙 👍🏽\"");
  EXPECT_EQ(quote("it's"), "\"it's\"");
}

TEST(TextQuoted, EscapesAsRustDebugDoes) {
  EXPECT_EQ(quote("a\n\"b\"\\"), R"("a\n\"b\"\\")");
  EXPECT_EQ(quote("\t\r\0"s), R"("\t\r\0")");
  EXPECT_EQ(quote("\x1b[31m\x07\x7f"), R"("\u{1b}[31m\u{7}\u{7f}")");
  EXPECT_EQ(quote("\u0085\u00a0\u00ad"),
            R"("\u{85}\u{a0}\u{ad}")");  // C1 control, no-break space, soft hyphen
  EXPECT_EQ(quote("\u202e\u2028\u200d\ufeff"),
            R"("\u{202e}\u{2028}\u{200d}\u{feff}")");  // bidi override, separator …
  EXPECT_EQ(quote("e\u0301"), R"("e\u{301}")");        // a combining mark
  EXPECT_EQ(quote("\ue000\U000e0001\U0010ffff"), R"("\u{e000}\u{e0001}\u{10ffff}")");
}

TEST(TextQuoted, ShowsInvalidBytesOneByOne) {
  EXPECT_EQ(quote("\xff"), R"("\xff")");
  EXPECT_EQ(quote("a\x80z"), R"("a\x80z")");
  EXPECT_EQ(quote("\xc0\xaf"), R"("\xc0\xaf")");                  // overlong
  EXPECT_EQ(quote("\xed\xa0\x80"), R"("\xed\xa0\x80")");          // a surrogate
  EXPECT_EQ(quote("\xf4\x90\x80\x80"), R"("\xf4\x90\x80\x80")");  // above U+10FFFF
  EXPECT_EQ(quote("\xe6\x9d"), R"("\xe6\x9d")");                  // cut off
  EXPECT_EQ(quote("\xe6\x9dz"), R"("\xe6\x9dz")");
}

RC_GTEST_PROP(TextQuoted, NeverLetsAControlCharacterThrough, (const std::string& bytes)) {
  const std::string text = quote(bytes);
  RC_ASSERT(is_valid_utf8(text));
  for (const char c : text) RC_ASSERT(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
}

TEST(TextEscaped, HasNoQuotesAroundAndIsCutAtACharacter) {
  EXPECT_EQ(escaped("a\nb"), "a\\nb");
  EXPECT_EQ(escaped("abcdef", 6), "abcdef");
  EXPECT_EQ(escaped("abcdefg", 6), "abcdef…");
  EXPECT_EQ(escaped("abc東京", 5), "abc…");
  EXPECT_EQ(escaped("abc東京", 6), "abc東…");
  EXPECT_EQ(escaped(std::string(1000, 'x')).size(), 80 + std::string("…").size());
}

TEST(TextHumanBytes, UsesPowersOfAThousandAndOneDecimal) {
  EXPECT_EQ(human_bytes(0), "0 bytes");
  EXPECT_EQ(human_bytes(1), "1 byte");
  EXPECT_EQ(human_bytes(5), "5 bytes");
  EXPECT_EQ(human_bytes(999), "999 bytes");
  EXPECT_EQ(human_bytes(1000), "1.0 KB");
  EXPECT_EQ(human_bytes(17'000), "17.0 KB");
  EXPECT_EQ(human_bytes(999'949), "999.9 KB");
  EXPECT_EQ(human_bytes(999'999), "1.0 MB");
  EXPECT_EQ(human_bytes(639'446'688), "639.4 MB");
  EXPECT_EQ(human_bytes(UINT64_MAX), "18.4 EB");
}

TEST(TextNearestName, FindsWhatWasMeant) {
  constexpr std::array<std::string_view, 6> kNames = {"scalar", "simd", "parallel", "cuda", "metal", "auto"};
  EXPECT_EQ(nearest_name("scaler", kNames), "scalar");
  EXPECT_EQ(nearest_name("simd", kNames), "simd");
  EXPECT_EQ(nearest_name("CUDA", kNames), "cuda");
  EXPECT_EQ(nearest_name("smid", kNames), "simd");
  EXPECT_EQ(nearest_name("paralel", kNames), "parallel");
  constexpr std::array<std::string_view, 3> kTypes = {"q4_k", "q4_k_m", "q4_k_s"};
  EXPECT_EQ(nearest_name("Q4KM", kTypes), "q4_k_m");
  EXPECT_EQ(nearest_name("q4-k-s", kTypes), "q4_k_s");
  EXPECT_EQ(nearest_name("q4__k", kTypes), "q4_k");
}

TEST(TextNearestName, FindsNothingWhenNothingIsNear) {
  constexpr std::array<std::string_view, 3> kNames = {"scalar", "simd", "cuda"};
  EXPECT_EQ(nearest_name("", kNames), "");
  EXPECT_EQ(nearest_name("x", kNames), "");
  EXPECT_EQ(nearest_name("vulkan", kNames), "");
  EXPECT_EQ(nearest_name("scalar", {}), "");
  EXPECT_EQ(nearest_name(std::string(1 << 20, 's'), kNames), "");
}

TEST(TextUtf8, TellsValidFromInvalid) {
  const std::vector<std::string> valid = {"",   "a",      "\0"s,    "é",    "\u0800",
                                          "東", "\ud7ff", "\ue000", "🦙", "\U0010ffff"};
  for (const std::string& text : valid) EXPECT_TRUE(is_valid_utf8(text)) << quote(text);
  const std::vector<std::string> invalid = {"\x80",
                                            "\xc0\x80",
                                            "\xc1\xbf",
                                            "\xc3",
                                            "\xe0\x9f\xbf",
                                            "\xed\xa0\x80",
                                            "\xe6\x9d",
                                            "\xf0\x8f\xbf\xbf",
                                            "\xf5\x80\x80\x80",
                                            "\xf4\x90\x80\x80",
                                            "\xf0\x9f\xa6",
                                            "a\xff"};
  for (const std::string& text : invalid) EXPECT_FALSE(is_valid_utf8(text)) << quote(text);
}

TEST(TextUtf8, CompletePrefixHoldsBackACharacterThatIsStillToCome) {
  const std::string llama = "x🦙";
  EXPECT_EQ(complete_utf8_prefix(""), 0u);
  EXPECT_EQ(complete_utf8_prefix("abc"), 3u);
  for (size_t n = 2; n < llama.size(); ++n) EXPECT_EQ(complete_utf8_prefix(llama.substr(0, n)), 1u) << n;
  EXPECT_EQ(complete_utf8_prefix(llama), llama.size());
}

TEST(TextUtf8, InvalidBytesCountAsComplete) {
  EXPECT_EQ(complete_utf8_prefix("a\xff"), 2u);
  EXPECT_EQ(complete_utf8_prefix("a\x80"), 2u);
  EXPECT_EQ(complete_utf8_prefix("\xed\xa0"), 2u);      // could only become a surrogate
  EXPECT_EQ(complete_utf8_prefix("\xf4\x90"), 2u);      // could only pass U+10FFFF
  EXPECT_EQ(complete_utf8_prefix("\xf0\x80\x80"), 3u);  // could only become overlong
  EXPECT_EQ(complete_utf8_prefix("\xc3\xc3"), 1u);      // the first is invalid, the second may go on
}

// Text that arrives in pieces: what is shown after each piece is always whole characters, and in the end
// everything.
RC_GTEST_PROP(TextUtf8, PiecesShownByCompletePrefixAreValid, ()) {
  const auto characters = *rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(
      std::vector<std::string>{"a", "é", "東", "🦙", "\n", "\u07ff", "\uffff", "\U0010ffff"}));
  std::string text;
  for (const std::string& character : characters) text += character;
  std::string pending;
  std::string shown;
  for (const char byte : text) {
    pending += byte;
    const size_t n = complete_utf8_prefix(pending);
    RC_ASSERT(is_valid_utf8(pending.substr(0, n)));
    RC_ASSERT(pending.size() - n <= 3u);
    shown += pending.substr(0, n);
    pending.erase(0, n);
  }
  RC_ASSERT(shown == text);
}

TEST(Text, EqualsIgnoringCaseComparesWholeTexts) {
  EXPECT_TRUE(equals_ignoring_case("Q8_0", "q8_0"));
  EXPECT_TRUE(equals_ignoring_case("", ""));
  EXPECT_FALSE(equals_ignoring_case("q8_0", "q8_01"));
  EXPECT_FALSE(equals_ignoring_case("q8_0", "q8-0"));
}

}  // namespace
}  // namespace inferno
