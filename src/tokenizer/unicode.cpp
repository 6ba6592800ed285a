#include "tokenizer/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/check.h"

namespace inferno::tokenizer {
namespace {

uint8_t byte_at(std::string_view text, size_t i) {
  return static_cast<uint8_t>(text[i]);
}

// Everything below U+0300 is its own NFC and composes with nothing before it; those are the lead bytes below
// 0xCC.
bool is_trivially_nfc(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<uint8_t>(c) < 0xCC; });
}

int32_t combining_class(int32_t code_point) {
  return utf8proc_get_property(code_point)->combining_class;
}

int32_t code_point_at(std::string_view text, size_t& at) {
  int32_t code_point = 0;
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data() + at);
  const auto length = utf8proc_iterate(bytes, static_cast<utf8proc_ssize_t>(text.size() - at), &code_point);
  CHECK(length > 0, "normalization needs valid UTF-8");
  at += static_cast<size_t>(length);
  return code_point;
}

constexpr int kMaxParts = 8;  // the longest canonical decomposition has 4 code points
int decompose_one(int32_t code_point, std::array<int32_t, kMaxParts>& parts) {
  const auto n = utf8proc_decompose_char(code_point, parts.data(), kMaxParts, UTF8PROC_DECOMPOSE, nullptr);
  CHECK(n > 0 && n <= kMaxParts, "decomposition of U+{:04X} has {} parts", code_point, n);
  return static_cast<int>(n);
}

std::vector<int32_t> decompose(std::string_view text) {
  std::vector<int32_t> code_points;
  code_points.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    std::array<int32_t, kMaxParts> parts{};
    const int n = decompose_one(code_point_at(text, at), parts);
    code_points.insert(code_points.end(), parts.begin(), parts.begin() + n);
  }
  return code_points;
}

// The canonical ordering algorithm. utf8proc's own is an insertion sort, quadratic in a run of marks.
void order_marks(std::vector<int32_t>& code_points) {
  auto at = code_points.begin();
  while (at != code_points.end()) {
    const auto is_starter = [](int32_t c) { return combining_class(c) == 0; };
    const auto begin = std::find_if_not(at, code_points.end(), is_starter);
    const auto end = std::find_if(begin, code_points.end(), is_starter);
    std::stable_sort(begin, end,
                     [](int32_t a, int32_t b) { return combining_class(a) < combining_class(b); });
    at = end;
  }
}

}  // namespace

size_t utf8_char_length(std::string_view text) {
  if (text.empty()) return 0;
  const uint8_t lead = byte_at(text, 0);
  if (lead < 0x80) return 1;
  const size_t length = lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
  if (length == 0 || text.size() < length) return 0;
  const uint8_t second = byte_at(text, 1);
  const uint8_t lowest = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const uint8_t highest = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (second < lowest || second > highest) return 0;
  for (size_t i = 2; i < length; ++i) {
    if ((byte_at(text, i) & 0xC0) != 0x80) return 0;
  }
  return length;
}

size_t valid_utf8_length(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    const size_t length = utf8_char_length(text.substr(at));
    if (length == 0) break;
    at += length;
  }
  return at;
}

size_t invalid_utf8_length(std::string_view text) {
  size_t at = 0;
  while (at < text.size() && utf8_char_length(text.substr(at)) == 0) ++at;
  return at;
}

std::string nfc(std::string_view text) {
  if (is_trivially_nfc(text)) return std::string(text);
  std::vector<int32_t> code_points = decompose(text);
  order_marks(code_points);
  const auto count =
      utf8proc_normalize_utf32(code_points.data(), static_cast<utf8proc_ssize_t>(code_points.size()),
                               static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE));
  CHECK(count >= 0, "utf8proc: {}", utf8proc_errmsg(count));
  std::string result;
  result.reserve(text.size());
  for (utf8proc_ssize_t i = 0; i < count; ++i) {
    utf8proc_uint8_t bytes[4];
    const auto length = utf8proc_encode_char(code_points[static_cast<size_t>(i)], bytes);
    result.append(bytes, bytes + length);
  }
  return result;
}

bool starts_nfc(std::string_view text) {
  if (is_trivially_nfc(text.substr(0, 1))) return true;
  size_t at = 0;
  std::array<int32_t, kMaxParts> parts{};
  decompose_one(code_point_at(text, at), parts);
  const int32_t first = parts[0];
  // What composes with a character before it is a mark, a vowel or final consonant of Hangul, or a vowel sign
  // of a script beyond the basic plane, of which some are letters: there only ideographs and emoji count.
  if (first >= 0x1160 && first <= 0x11FF) return false;
  if (first >= 0x10000 && first < 0x1F000) return false;
  const auto category = utf8proc_category(first);
  const bool is_mark = category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_MC ||
                       category == UTF8PROC_CATEGORY_ME;
  return !is_mark && combining_class(first) == 0;
}

}  // namespace inferno::tokenizer
