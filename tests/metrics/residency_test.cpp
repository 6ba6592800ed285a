#include "metrics/residency.h"

#include <gtest/gtest.h>

#include "base/check.h"

namespace inferno::metrics {
namespace {

TimePoint second(int s) {
  return TimePoint(std::chrono::seconds(s));
}

TEST(KvResidency, CountsFromPinToUnpin) {
  KvResidency residency;
  residency.pin(7, second(1));
  residency.pin(8, second(2));
  residency.unpin(8, second(6));
  residency.pin(8, second(7));  // the page is used again
  residency.unpin(8, second(8));
  EXPECT_EQ(residency.residencies().kept(), (std::vector<double>{4, 1}));
}

TEST(KvResidency, APageIsPinnedOnce) {
  KvResidency residency;
  residency.pin(1, second(0));
  EXPECT_THROW(residency.pin(1, second(1)), InternalError);
  EXPECT_THROW(residency.unpin(2, second(1)), InternalError);
}

}  // namespace
}  // namespace inferno::metrics
