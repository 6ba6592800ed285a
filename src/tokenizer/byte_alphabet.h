// The byte alphabet of GPT-2: each byte is written as one printable character, so that a vocabulary is text.
// Source: Radford et al., "Language Models are Unsupervised Multitask Learners" (2019), encoder of the
// published model: printable bytes of Latin-1 stand for themselves, the other 68 are U+0100, U+0101 … in
// order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace inferno::tokenizer {

// Appends the spelling of a byte: 1 or 2 bytes of UTF-8.
void append_letter(uint8_t byte, std::string& spelling);
std::string spell(std::string_view bytes);
// The bytes that a spelling stands for; nullopt when a character of it is not of the alphabet.
std::optional<std::string> unspell(std::string_view spelling);

}  // namespace inferno::tokenizer
