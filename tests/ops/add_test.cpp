#include <gtest/gtest.h>

#include <vector>

#include "ops/op_case.h"
#include "support/canary.h"
#include "support/random.h"

namespace inferno::test {
namespace {

class AddTest : public OpTest {};

TEST_P(AddTest, EachElementIsRoundedOnce) {
  for (const int64_t n : {0, 1, 7, 16, 33, 1000}) {
    Random random(static_cast<uint64_t>(n));
    const std::vector<float> x = random.floats(n);
    const std::vector<float> y = random.floats(n, -1e-3, 1e3);
    Guarded<float> sum(x);
    ops().add({sum.data(), y.data(), n});
    sum.expect_canaries_alive();
    for (size_t i = 0; i < x.size(); ++i) {
      ASSERT_EQ(sum.data()[i], static_cast<float>(static_cast<double>(x[i]) + y[i])) << i;
    }
  }
}

INFERNO_FOR_EACH_OP_SET(AddTest);

}  // namespace
}  // namespace inferno::test
