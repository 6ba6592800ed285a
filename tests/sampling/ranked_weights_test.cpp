#include "sampling/ranked_weights.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

namespace inferno::sampling {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

// By sorting them.
struct Sorted {
  std::vector<size_t> order;
  std::vector<double> through;  // of each rank

  Sorted(const std::vector<float>& logits, float temperature) : order(logits.size()) {
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return logits[a] > logits[b]; });
    double sum = 0;
    for (const size_t i : order)
      through.push_back(sum += std::exp((double{logits[i]} - logits[order[0]]) / temperature));
  }
  double total() const { return through.back(); }
  size_t rank_of(size_t index) const {
    return static_cast<size_t>(std::find(order.begin(), order.end(), index) - order.begin());
  }
};

std::vector<float> some_logits(size_t n, unsigned seed) {
  std::mt19937 bits(seed);
  std::normal_distribution<float> normal(1.0f, 2.0f);
  std::vector<float> logits(n);
  // Multiples, so that some are equal.
  for (float& logit : logits) logit = std::round(normal(bits) * 512) / 512;
  return logits;
}

float highest(const std::vector<float>& logits) {
  return *std::max_element(logits.begin(), logits.end());
}

TEST(RankedWeights, FindsWhereASumIsPassedAsSortingDoes) {
  for (const size_t n : {1, 2, 31, 100, 2049, 20000}) {
    const std::vector<float> logits = some_logits(n, static_cast<unsigned>(n));
    for (const float temperature : {0.05f, 0.7f, 5.0f, 1e6f}) {
      const Sorted expected(logits, temperature);
      RankedWeights weights;
      weights.weigh(logits, highest(logits), temperature);
      EXPECT_NEAR(weights.total(), expected.total(), 1e-5 * expected.total());
      weights.fill(0);
      for (const double share : {1e-7, 0.1, 0.31, 0.5, 0.77, 0.95, 0.999}) {
        const auto place = weights.find(share * weights.total(), false);
        ASSERT_TRUE(place);
        // Float sums: the rank that sorting finds, or, where its sum is that but for rounding, one beside it.
        const size_t rank = expected.rank_of(place->index);
        const double sum = share * expected.total(), slack = 2e-6 * expected.total();
        EXPECT_GE(expected.through[rank], sum - slack) << n << ' ' << temperature << ' ' << share;
        if (rank > 0) {
          EXPECT_LT(expected.through[rank - 1], sum + slack) << n << " " << temperature;
        }
        EXPECT_NEAR(place->through, expected.through[rank], slack);
      }
    }
  }
}

TEST(RankedWeights, OfEqualsTheLowestIndexComesFirst) {
  const std::vector<float> logits = {1, 2, 2, 1, 2, -kInf};
  RankedWeights weights;
  weights.weigh(logits, 2, 0.5f);
  weights.fill(0);
  const auto through_of = [&](double sum) { return weights.find(sum, false)->index; };
  EXPECT_EQ(through_of(1), 1u);
  EXPECT_EQ(through_of(2), 2u);
  EXPECT_EQ(through_of(3), 4u);
  EXPECT_EQ(through_of(3.1), 0u);
  EXPECT_EQ(through_of(3.2), 3u);
  EXPECT_EQ(weights.find(1, true)->index, 2u);                                // beyond
  EXPECT_EQ(weights.find(2.5, true, RankedWeights::Place{2, 2})->index, 2u);  // not later
  EXPECT_EQ(weights.last().index, 3u);                                        // the last of all has no weight
  EXPECT_FALSE(weights.find(3.5, false));
}

TEST(RankedWeights, BucketsOfTheLikeliestAloneTellTheSame) {
  const std::vector<float> logits = some_logits(20000, 3);
  RankedWeights all, some;
  for (RankedWeights* weights : {&all, &some}) weights->weigh(logits, highest(logits), 0.8f);
  all.fill(0);
  some.fill(0.01);
  for (const double share : {0.001, 0.05, 0.2}) {
    const auto a = all.find(share * all.total(), false), b = some.find(share * some.total(), false);
    ASSERT_TRUE(a && b);
    EXPECT_EQ(a->index, b->index);
  }
  EXPECT_FALSE(some.find(0.9999 * some.total(), false));
}

TEST(RankedWeights, FindsTheLastOfAWeight) {
  for (const float temperature : {0.3f, 1.0f, 20.0f}) {
    const std::vector<float> logits = some_logits(20000, 5);
    const Sorted expected(logits, temperature);
    RankedWeights weights;
    weights.weigh(logits, highest(logits), temperature);
    for (const double least : {0.9999, 0.5, 0.05, 0.003}) {
      size_t rank = 0;
      const auto weight_of = [&](size_t i) {
        return std::exp((double{logits[expected.order[i]]} - logits[expected.order[0]]) / temperature);
      };
      while (rank + 1 < logits.size() && weight_of(rank + 1) >= least) ++rank;
      for (const double told_apart : {least, 0.0}) {
        weights.fill(told_apart);
        const auto place = weights.last_of_weight(least);
        ASSERT_TRUE(place) << temperature << ' ' << least;
        EXPECT_EQ(place->index, expected.order[rank]) << temperature << ' ' << least;
        EXPECT_NEAR(place->through, expected.through[rank], 1e-5 * place->through);
      }
    }
    weights.fill(0.5);
    if (temperature < 20) {
      EXPECT_FALSE(weights.last_of_weight(1e-4));
    }
  }
}

TEST(RankedWeights, ExtremesStayInOrder) {
  const float largest = std::numeric_limits<float>::max();
  RankedWeights weights;
  for (const float temperature : {1e-45f, 1.0f, largest}) {
    const std::vector<float> logits = {-largest, largest, 0, -kInf, largest};
    weights.weigh(logits, largest, temperature);
    weights.fill(0);
    EXPECT_EQ(weights.find(1, false)->index, 1u);
    EXPECT_EQ(weights.find(2, false)->index, 4u);
    EXPECT_NE(weights.last().index, 3u);
  }
  const std::vector<float> equal(3000, -7.0f);
  weights.weigh(equal, -7, 1);
  weights.fill(1);
  EXPECT_EQ(weights.total(), 3000);
  EXPECT_EQ(weights.find(1234, false)->index, 1233u);
  EXPECT_EQ(weights.last().index, 2999u);
  EXPECT_EQ(weights.last_of_weight(1)->index, 2999u);
}

}  // namespace
}  // namespace inferno::sampling
