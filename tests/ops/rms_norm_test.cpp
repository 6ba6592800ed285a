#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "ops/op_case.h"
#include "support/canary.h"
#include "support/random.h"

namespace inferno::test {
namespace {

struct RmsNormCase {
  int64_t n, dim;
  float eps;
  double size;  // of the inputs: where it is below sqrt(eps), eps decides
};

std::vector<RmsNormCase> rms_norm_cases() {
  std::vector<RmsNormCase> cases;
  for (const int64_t dim : {1, 3, 8, 64, 129, 256, 1000}) {
    for (const int64_t n : {1, 2, 17}) {
      for (const float eps : {1e-6f, 1e-5f}) {
        for (const double size : {1e-4, 1.0, 300.0}) cases.push_back({n, dim, eps, size});
      }
    }
  }
  return cases;
}

class RmsNormTest : public OpTest {};

TEST_P(RmsNormTest, CloseToDouble) {
  for (const RmsNormCase& c : rms_norm_cases()) {
    SCOPED_TRACE("n=" + std::to_string(c.n) + " dim=" + std::to_string(c.dim) +
                 " eps=" + std::to_string(c.eps) + " size=" + std::to_string(c.size));
    Random random(static_cast<uint64_t>(c.dim));
    const std::vector<float> x = random.floats(c.n * c.dim, -c.size, c.size);
    const std::vector<float> w = random.floats(c.dim, 0.5, 2.0);
    Guarded<float> y(c.n * c.dim);
    ops().rms_norm({x.data(), w.data(), y.data(), c.n, c.dim, c.eps});
    y.expect_canaries_alive();
    // Half the relative error of a sum of `dim` positive terms, and a few roundings more.
    const double bound = (static_cast<double>(c.dim) / 2 + 6) * kUnitRoundoff;
    for (int64_t r = 0; r < c.n; ++r) {
      double sum = 0.0;
      for (int64_t i = 0; i < c.dim; ++i) sum += std::pow(x[static_cast<size_t>(r * c.dim + i)], 2);
      const double scale = 1.0 / std::sqrt(sum / static_cast<double>(c.dim) + c.eps);
      for (int64_t i = 0; i < c.dim; ++i) {
        const double truth = x[static_cast<size_t>(r * c.dim + i)] * scale * w[static_cast<size_t>(i)];
        ASSERT_NEAR(y.data()[r * c.dim + i], truth, bound * std::abs(truth)) << r << ", " << i;
      }
    }
  }
}

TEST_P(RmsNormTest, InPlaceAndRowByRowAreTheSame) {
  constexpr int64_t kRows = 17;
  constexpr int64_t kDim = 131;
  Random random(4);
  const std::vector<float> x = random.floats(kRows * kDim);
  const std::vector<float> w = random.floats(kDim);
  Guarded<float> y(kRows * kDim);
  ops().rms_norm({x.data(), w.data(), y.data(), kRows, kDim, 1e-6f});
  Guarded<float> in_place(x);
  for (int64_t r = 0; r < kRows; ++r) {
    float* row = in_place.data() + r * kDim;
    ops().rms_norm({row, w.data(), row, 1, kDim, 1e-6f});
  }
  in_place.expect_canaries_alive();
  EXPECT_TRUE(same_bits(in_place.values(), y.values()));
}

TEST_P(RmsNormTest, ZerosStayZeros) {
  const std::vector<float> x(33, 0.0f);
  const std::vector<float> w(33, 2.0f);
  Guarded<float> y(33);
  ops().rms_norm({x.data(), w.data(), y.data(), 1, 33, 1e-6f});
  EXPECT_EQ(y.values(), x);
}

INFERNO_FOR_EACH_OP_SET(RmsNormTest);

}  // namespace
}  // namespace inferno::test
