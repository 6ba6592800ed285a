#include "backend/line_trip.h"

#include <gtest/gtest.h>

#include "base/cpu_topology.h"

namespace inferno::backend {
namespace {

TEST(LineTrip, IsThereWhereTwoProcessorsAre) {
  EXPECT_FALSE(line_trip(1).has_value());
  const auto trip = line_trip(64);
  ASSERT_EQ(trip.has_value(), cpu_topology().cpus.size() > 1);
  EXPECT_GT(trip.value_or(std::chrono::nanoseconds(1)).count(), 0);
}

}  // namespace
}  // namespace inferno::backend
