// UTF-8 and Unicode normalization, for text of unknown origin.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace inferno::tokenizer {

// Bytes of the well-formed UTF-8 character that `text` begins with (Unicode 15, table 3-7: no overlong forms,
// no surrogates, nothing above U+10FFFF), or 0 when it does not begin with one.
size_t utf8_char_length(std::string_view text);

// Bytes of the longest prefix that is well-formed UTF-8.
size_t valid_utf8_length(std::string_view text);
// Bytes before the first well-formed character: the run of invalid bytes at the start.
size_t invalid_utf8_length(std::string_view text);

// Normalization form C of well-formed UTF-8, in O(n log n) whatever the text: long runs of combining marks
// too.
std::string nfc(std::string_view text);

// Whether normalization may be cut before the character that `text`, well-formed UTF-8, begins with: whatever
// comes before it, nfc(before + text) is nfc(before) + nfc(text). May be false where it could be true.
bool starts_nfc(std::string_view text);

}  // namespace inferno::tokenizer
