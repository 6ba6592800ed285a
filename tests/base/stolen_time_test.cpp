#include "base/stolen_time.h"

#include <gtest/gtest.h>

namespace inferno {
namespace {

using std::chrono::milliseconds;

TEST(StolenTime, IsTheEighthNumber) {
  EXPECT_EQ(stolen_time_in("cpu  101008 2 9197 62967 440 5 70 2059 8 9", 100), milliseconds(20590));
  EXPECT_EQ(stolen_time_in("cpu 1 2 3 4 5 6 7 8", 1000), milliseconds(8));
}

TEST(StolenTime, IsUnknownWhereTheSystemDoesNotTell) {
  EXPECT_FALSE(stolen_time_in("", 100));
  EXPECT_FALSE(stolen_time_in("cpu 1 2 3 4 5 6 7", 100));
  EXPECT_FALSE(stolen_time_in("cpu0 1 2 3 4 5 6 7 8", 100));
  EXPECT_FALSE(stolen_time_in("cpu 1 2 3 4 5 6 7 8", 0));
}

#ifdef __linux__
TEST(StolenTime, IsToldHere) {
  EXPECT_TRUE(stolen_time());
}
#endif

}  // namespace
}  // namespace inferno
