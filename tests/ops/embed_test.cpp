#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "ops/format_oracle.h"
#include "ops/op_case.h"
#include "support/canary.h"

namespace inferno::test {
namespace {

class EmbedTest : public OpTest {};

TEST_P(EmbedTest, RowsOfTheTableTimesScale) {
  constexpr int64_t kVocab = 7;
  const std::vector<int32_t> ids = {6, 0, 3, 3, 1};
  const int64_t n = static_cast<int64_t>(ids.size());
  for (const DType dtype : weight_types()) {
    SCOPED_TRACE(name(dtype));
    const int64_t dim = traits(dtype).block_elems == 1 ? 37 : 2 * int64_t{traits(dtype).block_elems};
    Random random(3);
    const std::vector<uint8_t> table = random_weights(dtype, kVocab * dim, random);
    for (const float scale : {1.0f, std::sqrt(static_cast<float>(dim))}) {
      Guarded<float> y(n * dim);
      ops().embed({table.data(), dtype, ids.data(), y.data(), n, dim, scale});
      y.expect_canaries_alive();
      for (int64_t i = 0; i < n * dim; ++i) {
        const int64_t element = ids[static_cast<size_t>(i / dim)] * dim + i % dim;
        ASSERT_EQ(y.data()[i], static_cast<float>(row_element(dtype, table.data(), element)) * scale) << i;
      }
    }
  }
}

INFERNO_FOR_EACH_OP_SET(EmbedTest);

}  // namespace
}  // namespace inferno::test
