// SpecialMatcher: finds the tokens that are matched in raw text before anything else splits it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "tokenizer/vocabulary.h"

namespace inferno::tokenizer {

class SpecialMatcher {
 public:
  struct Match {
    size_t begin = 0;
    size_t length = 0;
    int32_t id = 0;
  };

  // The tokens of these types; `vocabulary` must outlive the matcher.
  SpecialMatcher(const Vocabulary& vocabulary, std::initializer_list<TokenType> types);

  // The leftmost match at or after `from`, and of those the longest. The time is bounded by the text's length
  // times the longest token's, not by how many tokens there are.
  std::optional<Match> find(std::string_view text, size_t from) const;

  // The same for a text that may go on.
  struct Settled {
    std::optional<Match> match;  // the first, if no further text can change it
    size_t before = 0;           // where it begins; without one, how far no match begins whatever comes
  };
  Settled find_settled(std::string_view text, size_t from) const;

 private:
  struct Candidate {
    std::optional<Match> match;
    bool is_open = false;  // the text ended where it might have become a longer one
  };
  bool begins_token(uint8_t byte) const {
    return first_byte_begin_[byte] != first_byte_begin_[byte + size_t{1}];
  }
  Candidate match_at(std::string_view text, size_t begin) const;

  const Vocabulary* vocabulary_;
  std::vector<int32_t> sorted_;                 // by spelling
  std::array<size_t, 257> first_byte_begin_{};  // in sorted_, of the tokens that begin with a byte
};

}  // namespace inferno::tokenizer
