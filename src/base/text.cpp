#include "base/text.h"

#include <fmt/core.h>
#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <vector>

namespace inferno {
namespace {

// What stands at the front of some bytes.
struct Utf8Step {
  enum Kind { kCharacter, kInvalid, kTruncated } kind;
  size_t length;       // of the character; 1 when invalid, all that is left when truncated
  int32_t code_point;  // of a character only
};

// The range that the byte after `lead` must be in (Unicode 15, table 3-7): narrower than 80..BF where a lead
// byte could otherwise start an overlong form, a surrogate or a number above U+10FFFF.
std::pair<uint8_t, uint8_t> second_byte_range(uint8_t lead) {
  switch (lead) {
    case 0xe0:
      return {0xa0, 0xbf};
    case 0xed:
      return {0x80, 0x9f};
    case 0xf0:
      return {0x90, 0xbf};
    case 0xf4:
      return {0x80, 0x8f};
    default:
      return {0x80, 0xbf};
  }
}

Utf8Step read_utf8(std::string_view bytes) {
  const auto lead = static_cast<uint8_t>(bytes[0]);
  if (lead < 0x80) return {Utf8Step::kCharacter, 1, lead};
  if (lead < 0xc2 || lead > 0xf4) return {Utf8Step::kInvalid, 1, 0};
  const size_t length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  int32_t code_point = lead & (0xff >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if (i == bytes.size()) return {Utf8Step::kTruncated, bytes.size(), 0};
    const auto byte = static_cast<uint8_t>(bytes[i]);
    const auto [low, high] = i == 1 ? second_byte_range(lead) : std::pair<uint8_t, uint8_t>{0x80, 0xbf};
    if (byte < low || byte > high) return {Utf8Step::kInvalid, 1, 0};
    code_point = (code_point << 6) | (byte & 0x3f);
  }
  return {Utf8Step::kCharacter, length, code_point};
}

// Rust's rule: everything is printable but controls, formats, private use, surrogates, unassigned, all
// separators other than the space, and marks that would attach to the character before them.
bool is_printable(int32_t code_point) {
  if (code_point < 0x80) return code_point >= 0x20 && code_point != 0x7f;
  const utf8proc_property_t* property = utf8proc_get_property(code_point);
  switch (property->category) {
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
      return false;
    case UTF8PROC_CATEGORY_SK:
      return true;  // emoji skin tones extend a grapheme too, but stand on their own
    default:
      return property->boundclass != UTF8PROC_BOUNDCLASS_EXTEND;
  }
}

void append_escaped(std::string& out, std::string_view bytes) {
  while (!bytes.empty()) {
    const Utf8Step step = read_utf8(bytes);
    if (step.kind != Utf8Step::kCharacter) {
      for (const char byte : bytes.substr(0, step.length)) {
        out += fmt::format("\\x{:02x}", static_cast<uint8_t>(byte));
      }
    } else {
      switch (step.code_point) {
        case '\0':
          out += "\\0";
          break;
        case '\t':
          out += "\\t";
          break;
        case '\n':
          out += "\\n";
          break;
        case '\r':
          out += "\\r";
          break;
        case '"':
          out += "\\\"";
          break;
        case '\\':
          out += "\\\\";
          break;
        default:
          if (is_printable(step.code_point)) {
            out += bytes.substr(0, step.length);
          } else {
            out += fmt::format("\\u{{{:x}}}", step.code_point);
          }
      }
    }
    bytes.remove_prefix(step.length);
  }
}

char lower(char c) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

// Edits (insert, delete, replace, swap neighbours) that turn a into b, letter case aside: optimal string
// alignment.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before_last, last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replace = last[j - 1] + (lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1);
      row[j] = std::min({replace, last[j] + 1, row[j - 1] + 1});
      const bool swapped =
          i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]);
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last = last;
    last = row;
  }
  return last[b.size()];
}

}  // namespace

std::string quote(std::string_view bytes) {
  std::string out = "\"";
  append_escaped(out, bytes);
  return out += '"';
}

std::string escaped(std::string_view bytes, size_t max_bytes) {
  std::string out;
  if (bytes.size() <= max_bytes) {
    append_escaped(out, bytes);
    return out;
  }
  const std::string_view head = bytes.substr(0, max_bytes);
  append_escaped(out, head.substr(0, complete_utf8_prefix(head)));
  return out += "…";
}

std::string human_bytes(uint64_t bytes) {
  if (bytes == 1) return "1 byte";
  if (bytes < 1000) return fmt::format("{} bytes", bytes);
  constexpr std::array kUnits = {"KB", "MB", "GB", "TB", "PB", "EB"};
  double value = static_cast<double>(bytes) / 1000;
  size_t unit = 0;
  // 999.95 is where one decimal would show "1000.0".
  while (value >= 999.95 && unit + 1 < kUnits.size()) {
    value /= 1000;
    ++unit;
  }
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string utc_time(std::time_t time) {
  std::tm parts = {};
  gmtime_r(&time, &parts);
  char text[sizeof("-2147483648-12-31T23:59:59Z")];
  return std::string(text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts));
}

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

std::string_view nearest_name(std::string_view word, std::span<const std::string_view> candidates) {
  constexpr size_t kLongestName = 64;  // longer is no slip of the keyboard, and would cost time
  std::string_view best;
  if (word.empty() || word.size() > kLongestName) return best;
  const auto letters = [](std::string_view text) {
    std::string result;
    std::copy_if(text.begin(), text.end(), std::back_inserter(result),
                 [](char c) { return c != '_' && c != '-'; });
    return result;
  };
  // To be meant, a name may differ by a third of the word, and by less than all of it.
  size_t best_distance = std::min(std::max<size_t>(1, word.size() / 3) + 1, word.size());
  for (const std::string_view candidate : candidates) {
    if (candidate.size() > kLongestName) continue;
    if (equals_ignoring_case(letters(candidate), letters(word))) return candidate;
    const size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

size_t complete_utf8_prefix(std::string_view bytes) {
  // A character that is cut off starts among the last three bytes.
  for (size_t tail = 1; tail <= std::min<size_t>(3, bytes.size()); ++tail) {
    const size_t start = bytes.size() - tail;
    if (read_utf8(bytes.substr(start)).kind == Utf8Step::kTruncated) return start;
  }
  return bytes.size();
}

bool is_valid_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const Utf8Step step = read_utf8(bytes);
    if (step.kind != Utf8Step::kCharacter) return false;
    bytes.remove_prefix(step.length);
  }
  return true;
}

}  // namespace inferno
