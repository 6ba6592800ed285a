#include "base/stolen_time.h"

#include <gtest/gtest.h>

namespace inferno {
namespace {

TEST(StolenTime, NeverGoesBack) {
  const auto before = stolen_time();
#ifdef __linux__
  ASSERT_TRUE(before.has_value());
#endif
  const auto after = stolen_time();
  EXPECT_EQ(before.has_value(), after.has_value());
  if (before && after) {
    EXPECT_LE(*before, *after);
    EXPECT_GE(before->count(), 0);
  }
}

}  // namespace
}  // namespace inferno
