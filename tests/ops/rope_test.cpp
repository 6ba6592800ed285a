#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <string>
#include <vector>

#include "ops/op_case.h"
#include "support/canary.h"
#include "support/random.h"

namespace inferno::test {
namespace {

using kernels::RopeStyle;

std::vector<double> inverse_frequencies(int64_t n_pairs, double base) {
  std::vector<double> inv_freq;
  for (int64_t i = 0; i < n_pairs; ++i) {
    inv_freq.push_back(std::pow(base, -static_cast<double>(i) / static_cast<double>(n_pairs)));
  }
  return inv_freq;
}

class RopeTest : public OpTest {
 protected:
  std::vector<float> table(const std::vector<int32_t>& positions, const std::vector<double>& inv_freq) {
    Guarded<float> cos_sin(static_cast<int64_t>(2 * positions.size() * inv_freq.size()));
    ops().rope_table({positions.data(), inv_freq.data(), cos_sin.data(),
                      static_cast<int64_t>(positions.size()), static_cast<int64_t>(inv_freq.size())});
    cos_sin.expect_canaries_alive();
    return cos_sin.values();
  }
};

TEST_P(RopeTest, TableIsRoundedOnce) {
  const std::vector<int32_t> positions = {0, 1, 2, 511, 4095, 131071};
  for (const int64_t n_pairs : {1, 4, 32, 64, 128}) {
    const std::vector<double> inv_freq = inverse_frequencies(n_pairs, 1e6);
    const std::vector<float> cos_sin = table(positions, inv_freq);
    for (size_t r = 0; r < positions.size(); ++r) {
      for (size_t i = 0; i < inv_freq.size(); ++i) {
        const long double angle = static_cast<long double>(positions[r]) * inv_freq[i];
        const size_t at = 2 * (r * inv_freq.size() + i);
        // Half a unit in the last place below 1, and what the rounding of the angle to double adds.
        const double bound = 0.5 * 0x1p-24 + 2e-11;
        ASSERT_NEAR(cos_sin[at], static_cast<double>(std::cos(angle)), bound) << positions[r] << ", " << i;
        ASSERT_NEAR(cos_sin[at + 1], static_cast<double>(std::sin(angle)), bound)
            << positions[r] << ", " << i;
      }
    }
  }
}

struct RopeCase {
  int64_t n, n_heads, head_dim, n_pairs;
  RopeStyle style;
};

std::vector<RopeCase> rope_cases() {
  std::vector<RopeCase> cases;
  for (const RopeStyle style : {RopeStyle::kInterleaved, RopeStyle::kHalves}) {
    for (const int64_t n : {1, 3, 17}) {
      for (const int64_t n_heads : {1, 2, 5}) {
        for (const int64_t head_dim : {8, 20, 64, 128, 256}) {
          cases.push_back({n, n_heads, head_dim, head_dim / 2, style});
          cases.push_back({n, n_heads, head_dim, head_dim / 4, style});  // the rest passes through
        }
      }
    }
  }
  return cases;
}

TEST_P(RopeTest, RotatesPairs) {
  for (const RopeCase& c : rope_cases()) {
    SCOPED_TRACE("n=" + std::to_string(c.n) + " heads=" + std::to_string(c.n_heads) +
                 " head_dim=" + std::to_string(c.head_dim) + " pairs=" + std::to_string(c.n_pairs) +
                 " style=" + std::to_string(static_cast<int>(c.style)));
    std::vector<int32_t> positions;
    for (int64_t r = 0; r < c.n; ++r) positions.push_back(static_cast<int32_t>(r * 37 % 101));
    const std::vector<float> cos_sin = table(positions, inverse_frequencies(c.n_pairs, 1e4));
    Random random(5);
    const std::vector<float> x = random.floats(c.n * c.n_heads * c.head_dim);
    Guarded<float> y(x);
    ops().rope({y.data(), cos_sin.data(), c.n, c.n_heads, c.head_dim, c.n_pairs, c.style});
    y.expect_canaries_alive();

    std::vector<float> expected_rest = x;
    for (int64_t row = 0; row < c.n * c.n_heads; ++row) {
      for (int64_t i = 0; i < c.n_pairs; ++i) {
        const bool interleaved = c.style == RopeStyle::kInterleaved;
        const size_t a = static_cast<size_t>(row * c.head_dim + (interleaved ? 2 * i : i));
        const size_t b = static_cast<size_t>(row * c.head_dim + (interleaved ? 2 * i + 1 : i + c.n_pairs));
        const size_t at = static_cast<size_t>(2 * (row / c.n_heads * c.n_pairs + i));
        const std::complex<double> rotated =
            std::complex<double>(x[a], x[b]) * std::complex<double>(cos_sin[at], cos_sin[at + 1]);
        const double bound = 2 * kUnitRoundoff * (std::abs(x[a]) + std::abs(x[b]));
        ASSERT_NEAR(y.data()[a], rotated.real(), bound) << row << ", pair " << i;
        ASSERT_NEAR(y.data()[b], rotated.imag(), bound) << row << ", pair " << i;
        expected_rest[a] = y.data()[a];
        expected_rest[b] = y.data()[b];
      }
    }
    EXPECT_TRUE(same_bits(y.values(), expected_rest)) << "elements behind the pairs changed";
  }
}

TEST_P(RopeTest, PositionZeroChangesNothing) {
  const std::vector<float> cos_sin = table({0}, inverse_frequencies(16, 1e4));
  Random random(6);
  const std::vector<float> x = random.floats(3 * 32);
  Guarded<float> y(x);
  ops().rope({y.data(), cos_sin.data(), 1, 3, 32, 16, RopeStyle::kHalves});
  EXPECT_EQ(y.values(), x);
}

INFERNO_FOR_EACH_OP_SET(RopeTest);

}  // namespace
}  // namespace inferno::test
