// NgramIndex: what a sequence says next if it repeats itself: the tokens that followed the last time its
// latest tokens occurred (prompt lookup decoding, Saxena 2023,
// github.com/apoorvumang/prompt-lookup-decoding).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace inferno::engine {

class NgramIndex {
 public:
  // Tokens that have to agree.
  static constexpr int kShortest = 2, kLongest = 4;

  struct Guess {
    int match = 0;                // as many tokens agreed; 0: never seen
    std::vector<int32_t> tokens;  // what comes next, by the rest of the sequence repeated if that is shorter
  };

  // `ids`: the whole sequence so far; calls hand in the same one, longer. Time is linear in what is new.
  Guess guess(std::span<const int32_t> ids, size_t n_tokens);

 private:
  // For each length of match, where the tokens after it stand, by a hash of it: the last place wins, whatever
  // was there, so that no text can make it slow or large.
  static constexpr int kTableBits = 14;
  using Table = std::vector<int32_t>;

  static size_t slot(std::span<const int32_t> ngram);
  void add(std::span<const int32_t> ids);

  std::array<Table, kLongest - kShortest + 1> tables_;
  size_t n_added_ = 0;  // tokens that have been what comes next
};

}  // namespace inferno::engine
