#include "tokenizer/special_matcher.h"

#include <algorithm>

namespace inferno::tokenizer {
namespace {

uint8_t byte_at(std::string_view text, size_t i) {
  return static_cast<uint8_t>(text[i]);
}

}  // namespace

SpecialMatcher::SpecialMatcher(const Vocabulary& vocabulary, std::initializer_list<TokenType> types)
    : vocabulary_(&vocabulary) {
  for (int32_t id = 0; id < vocabulary.size(); ++id) {
    const std::string_view token = vocabulary.spelling(id);
    const bool wanted = std::find(types.begin(), types.end(), vocabulary.type(id)) != types.end();
    if (wanted && !token.empty()) sorted_.push_back(id);
  }
  const auto by_spelling = [&](int32_t a, int32_t b) {
    return vocabulary.spelling(a) < vocabulary.spelling(b);
  };
  // Stable, so that of duplicates the first id stays.
  std::stable_sort(sorted_.begin(), sorted_.end(), by_spelling);
  const auto same_spelling = [&](int32_t a, int32_t b) {
    return vocabulary.spelling(a) == vocabulary.spelling(b);
  };
  sorted_.erase(std::unique(sorted_.begin(), sorted_.end(), same_spelling), sorted_.end());
  for (const int32_t id : sorted_) ++first_byte_begin_[byte_at(vocabulary.spelling(id), 0) + size_t{1}];
  for (size_t byte = 0; byte < 256; ++byte) first_byte_begin_[byte + 1] += first_byte_begin_[byte];
}

std::optional<SpecialMatcher::Match> SpecialMatcher::find(std::string_view text, size_t from) const {
  if (sorted_.empty()) return std::nullopt;
  for (size_t begin = from; begin < text.size(); ++begin) {
    if (!begins_token(byte_at(text, begin))) continue;
    if (const Candidate candidate = match_at(text, begin); candidate.match) return candidate.match;
  }
  return std::nullopt;
}

SpecialMatcher::Settled SpecialMatcher::find_settled(std::string_view text, size_t from) const {
  for (size_t begin = from; begin < text.size(); ++begin) {
    if (!begins_token(byte_at(text, begin))) continue;
    const Candidate candidate = match_at(text, begin);
    if (candidate.is_open) return {std::nullopt, begin};
    if (candidate.match) return {candidate.match, begin};
  }
  return {std::nullopt, text.size()};
}

// Narrows the range of tokens that agree with the text so far, byte by byte: a trie without nodes. The token
// that ends at the current depth, if there is one, is the first of the range.
SpecialMatcher::Candidate SpecialMatcher::match_at(std::string_view text, size_t begin) const {
  const size_t first_byte = byte_at(text, begin);
  auto low = sorted_.begin() + static_cast<std::ptrdiff_t>(first_byte_begin_[first_byte]);
  auto high = sorted_.begin() + static_cast<std::ptrdiff_t>(first_byte_begin_[first_byte + 1]);
  Candidate longest;
  for (size_t depth = 1; low != high; ++depth) {
    if (vocabulary_->spelling(*low).size() == depth) {
      longest.match = Match{begin, depth, *low};
      ++low;
    }
    if (begin + depth == text.size()) {
      longest.is_open = low != high;
      break;
    }
    const uint8_t next = byte_at(text, begin + depth);
    low = std::partition_point(low, high,
                               [&](int32_t id) { return byte_at(vocabulary_->spelling(id), depth) < next; });
    high = std::partition_point(
        low, high, [&](int32_t id) { return byte_at(vocabulary_->spelling(id), depth) == next; });
  }
  return longest;
}

}  // namespace inferno::tokenizer
