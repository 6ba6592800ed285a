// Text for people: escaping bytes of unknown origin, lists, byte counts with units, times, the nearest of a
// list of names.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <ctime>
#include <span>
#include <string>
#include <string_view>

namespace inferno {

// A quoted string as Rust's {:?} prints it: "a\n\"b\"". Valid UTF-8 that is printable stays as it is; control
// characters become \n, \t, \r, \0, \\, \" or \u{1b}; invalid bytes become \xff. No terminal control gets
// through.
std::string quote(std::string_view bytes);

// As quote(), without the quotes and cut after `max_bytes` with "…": for bytes of a file inside an error
// message.
std::string escaped(std::string_view bytes, size_t max_bytes = 80);

// Items with `separator` between them, each as fmt writes it.
template <class Range>
std::string join(const Range& items, std::string_view separator) {
  std::string text;
  std::string_view before;
  for (const auto& item : items) {
    text += before;
    text += fmt::format("{}", item);
    before = separator;
  }
  return text;
}

// "639.4 MB", "17.0 KB", "5 bytes" (powers of 1000).
std::string human_bytes(uint64_t bytes);

// "2026-11-22T04:05:19Z" (RFC 3339).
std::string utc_time(std::time_t time);

// Whether they are the same but for the case of ASCII letters.
bool equals_ignoring_case(std::string_view a, std::string_view b);

// The first candidate that is `word` but for case, '_' and '-' (q4km), else the one with the smallest edit
// distance, case aside, or "" if none is near enough to be meant.
std::string_view nearest_name(std::string_view word, std::span<const std::string_view> candidates);

// The number of bytes of the longest prefix of `bytes` that ends on a UTF-8 character boundary: what may be
// shown now while the rest of a character is still to come. Invalid sequences count as complete.
size_t complete_utf8_prefix(std::string_view bytes);

bool is_valid_utf8(std::string_view bytes);

}  // namespace inferno
