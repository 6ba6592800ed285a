#include "tokenizer/byte_alphabet.h"

#include <gtest/gtest.h>

#include <set>

namespace inferno::tokenizer {
namespace {

TEST(ByteAlphabet, EveryByteHasItsOwnLetterAndComesBack) {
  std::set<std::string> letters;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const std::string bytes(1, static_cast<char>(byte));
    letters.insert(spell(bytes));
    EXPECT_EQ(unspell(spell(bytes)), bytes);
  }
  EXPECT_EQ(letters.size(), 256U);
}

TEST(ByteAlphabet, KnownLetters) {
  EXPECT_EQ(spell(" a\n\t~"), "ĠaĊĉ~");
  EXPECT_EQ(spell("\x7F\xAD\xFF"), "ġŃÿ");
  EXPECT_EQ(spell(std::string(1, '\0')), "Ā");
  EXPECT_EQ(spell("é"), "Ã©");
}

TEST(ByteAlphabet, OtherCharactersAreNoLetters) {
  for (const char* spelling : {" ", "a b", "\n", "ń", "▁the", "é\u200B", "Ġ\xC4", "\xFF", "🦙"}) {
    EXPECT_FALSE(unspell(spelling)) << spelling;
  }
  EXPECT_TRUE(unspell("Ń"));  // U+0143 is the last letter, U+0144 above is none
  EXPECT_EQ(unspell(""), "");
}

}  // namespace
}  // namespace inferno::tokenizer
