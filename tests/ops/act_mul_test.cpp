#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "ops/op_case.h"
#include "support/canary.h"
#include "support/random.h"

namespace inferno::test {
namespace {

using kernels::Activation;

double activate(Activation activation, double x) {
  if (activation == Activation::kSilu) return x / (1.0 + std::exp(-x));
  const double inner = std::sqrt(2.0 / std::acos(-1.0)) * (x + 0.044715 * x * x * x);
  return 0.5 * x * (1.0 + std::tanh(inner));
}

class ActMulTest : public OpTest {};

TEST_P(ActMulTest, CloseToDouble) {
  for (const Activation activation : {Activation::kSilu, Activation::kGeluTanh}) {
    for (const int64_t n : {0, 1, 7, 16, 1000}) {
      for (const double size : {1e-3, 1.0, 20.0, 1e4}) {
        Random random(static_cast<uint64_t>(n));
        const std::vector<float> gate = random.floats(n, -size, size);
        const std::vector<float> up = random.floats(n, -3.0, 3.0);
        Guarded<float> y(n);
        Guarded<float> in_place(gate);
        ops().act_mul({gate.data(), up.data(), y.data(), n, activation});
        ops().act_mul({in_place.data(), up.data(), in_place.data(), n, activation});
        y.expect_canaries_alive();
        in_place.expect_canaries_alive();
        EXPECT_TRUE(same_bits(y.values(), in_place.values()));
        for (size_t i = 0; i < gate.size(); ++i) {
          const double truth = activate(activation, gate[i]) * up[i];
          // Relative to the gate, not to the result: in 1 + tanh a negative gate cancels.
          const double bound = 6 * kUnitRoundoff * std::abs(static_cast<double>(gate[i]) * up[i]);
          ASSERT_NEAR(y.data()[i], truth, bound) << gate[i] << " * " << up[i];
        }
      }
    }
  }
}

TEST_P(ActMulTest, LargeGatesSaturateAndNaNsStay) {
  const std::vector<float> gate = {0.0f, 200.0f, -200.0f, 1e20f, -1e20f, NAN};
  const std::vector<float> up(gate.size(), 1.0f);
  for (const Activation activation : {Activation::kSilu, Activation::kGeluTanh}) {
    Guarded<float> y(static_cast<int64_t>(gate.size()));
    ops().act_mul({gate.data(), up.data(), y.data(), static_cast<int64_t>(gate.size()), activation});
    const std::vector<float> expected = {0.0f, 200.0f, 0.0f, 1e20f, 0.0f};
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(y.data()[i], expected[i]) << gate[i];
    EXPECT_TRUE(std::isnan(y.data()[5]));
  }
}

INFERNO_FOR_EACH_OP_SET(ActMulTest);

}  // namespace
}  // namespace inferno::test
