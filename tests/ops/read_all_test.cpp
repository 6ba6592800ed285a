#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "kernels/reference/reference.h"
#include "support/random.h"

namespace inferno::test {
namespace {

TEST(ReadAllTest, EveryByteCountsAtItsPlaceInTheWord) {
  Random random(10);
  std::vector<uint8_t> data(1000);
  for (uint8_t& byte : data) byte = random.byte();
  for (const size_t begin : {0, 1, 3}) {  // an unaligned start is allowed
    for (size_t bytes = 0; bytes <= 300; ++bytes) {
      uint64_t expected = 0;
      for (size_t i = 0; i < bytes; ++i) expected += uint64_t{data[begin + i]} << (8 * (i % 8));
      // An exact copy, so that a read behind the end is one behind an allocation.
      const std::vector<uint8_t> exact(data.begin(),
                                       data.begin() + static_cast<std::ptrdiff_t>(begin + bytes));
      ASSERT_EQ(kernels::reference::read_all(exact.data() + begin, static_cast<int64_t>(bytes)), expected)
          << bytes;
    }
  }
}

}  // namespace
}  // namespace inferno::test
