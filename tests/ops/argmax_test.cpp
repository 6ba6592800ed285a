#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "ops/op_case.h"
#include "support/canary.h"
#include "support/random.h"

namespace inferno::test {
namespace {

struct Best {
  int32_t index;
  float probability;
};

class ArgmaxTest : public OpTest {
 protected:
  std::vector<Best> run(const std::vector<float>& x, int64_t n) {
    Guarded<int32_t> index(n);
    Guarded<float> probability(n);
    ops().argmax({x.data(), index.data(), probability.data(), n, static_cast<int64_t>(x.size()) / n});
    index.expect_canaries_alive();
    probability.expect_canaries_alive();
    std::vector<Best> best;
    for (int64_t r = 0; r < n; ++r) best.push_back({index.data()[r], probability.data()[r]});
    return best;
  }
};

TEST_P(ArgmaxTest, CloseToDouble) {
  for (const int64_t dim : {1, 2, 15, 256, 5003}) {
    for (const int64_t n : {1, 3, 17}) {
      for (const double size : {1.0, 30.0, 1e30}) {
        Random random(static_cast<uint64_t>(dim));
        const std::vector<float> x = random.floats(n * dim, -size, size);
        const std::vector<Best> best = run(x, n);
        for (int64_t r = 0; r < n; ++r) {
          const float* row = x.data() + r * dim;
          int64_t index = 0;
          for (int64_t i = 1; i < dim; ++i) index = row[i] > row[index] ? i : index;
          double sum = 0.0;
          for (int64_t i = 0; i < dim; ++i) sum += std::exp(static_cast<double>(row[i]) - row[index]);
          const Best& found = best[static_cast<size_t>(r)];
          EXPECT_EQ(found.index, index);
          // The difference of two logits is rounded to float: an error of its size, relative in exp.
          EXPECT_NEAR(found.probability, 1.0 / sum, 100 * kUnitRoundoff / sum) << dim << ", " << size;
        }
      }
    }
  }
}

TEST_P(ArgmaxTest, LowestIndexWinsATie) {
  const std::vector<Best> best = run({1, 3, 2, 3, 3, /**/ 0, 0, 0, 0, 0, /**/ -0.0f, 0.0f, -1, -1, -1}, 3);
  EXPECT_EQ(best[0].index, 1);
  EXPECT_EQ(best[1].index, 0);
  EXPECT_FLOAT_EQ(best[1].probability, 0.2f);
  EXPECT_EQ(best[2].index, 0);
}

TEST_P(ArgmaxTest, ANaNNeverWinsSilently) {
  for (const std::vector<float>& x :
       {std::vector<float>{NAN, 1, 2}, {1, NAN, 2}, {1, 2, NAN}, {INFINITY, NAN, 1}}) {
    const Best best = run(x, 1)[0];
    EXPECT_EQ(best.index, -1);
    EXPECT_TRUE(std::isnan(best.probability));
  }
}

TEST_P(ArgmaxTest, Infinities) {
  const std::vector<Best> best =
      run({1, INFINITY, 2, /**/ -INFINITY, -INFINITY, -INFINITY, /**/ -INFINITY, 5, -INFINITY}, 3);
  EXPECT_EQ(best[0].index, 1);
  EXPECT_TRUE(std::isnan(best[0].probability));
  EXPECT_EQ(best[1].index, 0);
  EXPECT_TRUE(std::isnan(best[1].probability));
  EXPECT_EQ(best[2].index, 1);
  EXPECT_EQ(best[2].probability, 1.0f);
}

INFERNO_FOR_EACH_OP_SET(ArgmaxTest);

}  // namespace
}  // namespace inferno::test
