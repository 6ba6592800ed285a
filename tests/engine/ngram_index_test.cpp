#include "engine/ngram_index.h"

#include <gtest/gtest.h>

namespace inferno::engine {
namespace {

using Ids = std::vector<int32_t>;

NgramIndex::Guess guess(const Ids& ids, size_t n = 4) {
  NgramIndex index;
  return index.guess(ids, n);
}

TEST(NgramIndex, GuessesWhatFollowedLastTime) {
  const auto found = guess({1, 2, 3, 4, 5, 9, 1, 2, 3});
  EXPECT_EQ(found.match, 3);
  EXPECT_EQ(found.tokens, Ids({4, 5, 9, 1}));
}

TEST(NgramIndex, TheLongestMatchWinsAndAmongThoseTheLatest) {
  EXPECT_EQ(guess({7, 1, 2, 50, 8, 1, 2, 60, 7, 1, 2}).tokens.front(), 50);
  const auto latest = guess({1, 2, 50, 8, 1, 2, 60, 9, 1, 2});
  EXPECT_EQ(latest.match, 2);
  EXPECT_EQ(latest.tokens.front(), 60);
  EXPECT_EQ(guess({1, 2, 3, 4, 5, 1, 2, 3, 4}).match, NgramIndex::kLongest);
}

TEST(NgramIndex, ALoopGoesOn) {
  EXPECT_EQ(guess({9, 1, 2, 1, 2}).tokens, Ids({1, 2, 1, 2}));
  EXPECT_EQ(guess({5, 5, 5}).tokens, Ids({5, 5, 5, 5}));
}

TEST(NgramIndex, WithoutAMatchThereIsNoGuess) {
  for (const Ids& ids : {Ids{}, Ids{1}, Ids{1, 2}, Ids{1, 2, 3, 2}, Ids{1, 2, 3, 4}}) {
    const auto none = guess(ids);
    EXPECT_EQ(none.match, 0);
    EXPECT_TRUE(none.tokens.empty());
  }
}

TEST(NgramIndex, TokenByTokenItIsTheSameAsAtOnce) {
  NgramIndex index;
  Ids ids;
  for (int i = 0; i < 2000; ++i) {
    ids.push_back(i * i % 37 / 5);
    const auto by_steps = index.guess(ids, 5);
    const auto at_once = guess(ids, 5);
    ASSERT_EQ(by_steps.match, at_once.match) << i;
    ASSERT_EQ(by_steps.tokens, at_once.tokens) << i;
  }
}

}  // namespace
}  // namespace inferno::engine
