#include "tokenizer/byte_alphabet.h"

#include <array>

namespace inferno::tokenizer {
namespace {

constexpr uint16_t kNoByte = 256;

struct Alphabet {
  std::array<uint16_t, 256> letters{};  // code point of each byte
  std::array<uint16_t, 0x144> bytes{};  // of each code point, or kNoByte
};

constexpr bool stands_for_itself(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

constexpr Alphabet make_alphabet() {
  Alphabet alphabet;
  for (uint16_t& byte : alphabet.bytes) byte = kNoByte;
  uint16_t next = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const uint16_t letter = stands_for_itself(byte) ? static_cast<uint16_t>(byte) : next++;
    alphabet.letters[byte] = letter;
    alphabet.bytes[letter] = static_cast<uint16_t>(byte);
  }
  return alphabet;
}

constexpr Alphabet kAlphabet = make_alphabet();

}  // namespace

void append_letter(uint8_t byte, std::string& spelling) {
  const unsigned letter = kAlphabet.letters[byte];
  if (letter < 0x80) {
    spelling += static_cast<char>(letter);
  } else {
    spelling += static_cast<char>(0xC0 | (letter >> 6));
    spelling += static_cast<char>(0x80 | (letter & 0x3F));
  }
}

std::string spell(std::string_view bytes) {
  std::string spelling;
  spelling.reserve(bytes.size() * 2);
  for (const char byte : bytes) append_letter(static_cast<uint8_t>(byte), spelling);
  return spelling;
}

std::optional<std::string> unspell(std::string_view spelling) {
  std::string bytes;
  bytes.reserve(spelling.size());
  for (size_t i = 0; i < spelling.size(); ++i) {
    unsigned letter = static_cast<uint8_t>(spelling[i]);
    if (letter >= 0x80) {
      // The alphabet's letters above ASCII are all of two bytes.
      if (letter < 0xC2 || letter > 0xDF || i + 1 == spelling.size()) return std::nullopt;
      letter = ((letter & 0x1F) << 6) | (static_cast<uint8_t>(spelling[++i]) & 0x3F);
    }
    if (letter >= kAlphabet.bytes.size() || kAlphabet.bytes[letter] == kNoByte) return std::nullopt;
    bytes += static_cast<char>(kAlphabet.bytes[letter]);
  }
  return bytes;
}

}  // namespace inferno::tokenizer
