#include "metrics/residency.h"

#include <gtest/gtest.h>

#include "base/check.h"

namespace inferno::metrics {
namespace {

TimePoint at(int s) {
  return TimePoint(std::chrono::seconds(s));
}

TEST(KvResidency, CountsFromPinToUnpin) {
  KvResidency residency;
  residency.pin(7, at(1));
  residency.pin(8, at(2));
  residency.unpin(8, at(6));
  residency.pin(8, at(7));  // the page is used again
  residency.unpin(8, at(8));
  EXPECT_EQ(residency.residencies().kept(), (std::vector<double>{4, 1}));
}

TEST(KvResidency, APageIsPinnedOnce) {
  KvResidency residency;
  residency.pin(1, at(0));
  EXPECT_THROW(residency.pin(1, at(1)), InternalError);
  EXPECT_THROW(residency.unpin(2, at(1)), InternalError);
}

}  // namespace
}  // namespace inferno::metrics
