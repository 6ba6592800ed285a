#include <gtest/gtest.h>

#include <vector>

#include "ops/op_case.h"
#include "support/canary.h"
#include "support/random.h"

namespace inferno::test {
namespace {

class GatherRowsTest : public OpTest {};

TEST_P(GatherRowsTest, CopiesRows) {
  const std::vector<int32_t> ids = {4, 0, 4, 2};
  for (const int64_t dim : {1, 7, 64}) {
    for (int64_t n = 0; n <= static_cast<int64_t>(ids.size()); ++n) {
      Random random(9);
      const std::vector<float> x = random.floats(5 * dim);
      Guarded<float> y(n * dim);
      ops().gather_rows({x.data(), ids.data(), y.data(), n, dim});
      y.expect_canaries_alive();
      for (int64_t i = 0; i < n * dim; ++i) {
        const int64_t source = ids[static_cast<size_t>(i / dim)] * dim + i % dim;
        ASSERT_EQ(y.data()[i], x[static_cast<size_t>(source)]) << i;
      }
    }
  }
}

INFERNO_FOR_EACH_OP_SET(GatherRowsTest);

}  // namespace
}  // namespace inferno::test
