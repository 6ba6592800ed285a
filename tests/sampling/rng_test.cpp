#include "sampling/rng.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

namespace inferno::sampling {
namespace {

using Words = std::array<uint32_t, 4>;

// The vectors published with Random123 (kat_vectors, philox4x32, 10 rounds): zeros, ones, digits of pi.
TEST(Rng, PhiloxGivesThePublishedAnswers) {
  EXPECT_EQ(philox4x32_10({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32_10({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32_10({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Rng, UniformUsesAllWordsOfSeedAndPosition) {
  // The first published answer: 53 of the bits e169c58d'6627e8d5.
  EXPECT_EQ(uniform({0, 0}), static_cast<double>(0xe169c58d6627e8d5u >> 11) * 0x1p-53);
  std::set<double> values;
  for (const uint64_t bit : {0, 31, 32, 63}) {
    values.insert(uniform({uint64_t{1} << bit, 0}));
    values.insert(uniform({0, uint64_t{1} << bit}));
  }
  EXPECT_EQ(values.size(), 8u);
}

TEST(Rng, UniformFillsTheUnitIntervalEvenly) {
  constexpr int kDraws = 100'000;
  constexpr int kBins = 100;
  std::array<int, kBins> counts{};
  for (uint64_t position = 0; position < kDraws; ++position) {
    const double u = uniform({42, position});
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    ++counts[static_cast<size_t>(u * kBins)];
  }
  double chi_square = 0;
  const double expected = static_cast<double>(kDraws) / kBins;
  for (const int count : counts) chi_square += (count - expected) * (count - expected) / expected;
  EXPECT_LT(chi_square, 180);  // 99 degrees of freedom: exceeded by chance once in a million
}

}  // namespace
}  // namespace inferno::sampling
