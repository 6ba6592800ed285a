#include "backend/ceilings.h"

#include <gtest/gtest.h>

#include <array>
#include <string_view>

namespace inferno::backend {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

TEST(ReadBuffer, IsWhatAPassReads) {
  EXPECT_EQ(read_buffer_bytes(600 * kMiB, 32 * kMiB, std::nullopt), 600 * kMiB);
  EXPECT_EQ(read_buffer_bytes(600 * kMiB, 32 * kMiB, 64 * 1024 * kMiB), 600 * kMiB);
  EXPECT_EQ(read_buffer_bytes(1, 32 * kMiB, 64 * 1024 * kMiB), 256 * kMiB) << "more than caches keep";
  EXPECT_EQ(read_buffer_bytes(8192 * kMiB, 32 * kMiB, 64 * 1024 * kMiB), 1024 * kMiB) << "as good as more";
}

TEST(ReadBuffer, IsTwiceTheL3OrMore) {
  EXPECT_EQ(read_buffer_bytes(600 * kMiB, 384 * kMiB, 64 * 1024 * kMiB), 768 * kMiB);
  EXPECT_EQ(read_buffer_bytes(600 * kMiB, 768 * kMiB, 64 * 1024 * kMiB), 1536 * kMiB);
  EXPECT_EQ(read_buffer_bytes(1, 0, 64 * 1024 * kMiB), 256 * kMiB);
}

TEST(ReadBuffer, IsAQuarterOfScarceMemoryUntilACacheCouldHoldIt) {
  EXPECT_EQ(read_buffer_bytes(600 * kMiB, 32 * kMiB, 512 * kMiB), 128 * kMiB);
  EXPECT_EQ(read_buffer_bytes(600 * kMiB, 32 * kMiB, 256 * kMiB), 64 * kMiB);
  EXPECT_EQ(read_buffer_bytes(600 * kMiB, 32 * kMiB, 256 * kMiB - 4), std::nullopt);
  EXPECT_EQ(read_buffer_bytes(600 * kMiB, 384 * kMiB, 1024 * kMiB), std::nullopt);
  EXPECT_EQ(read_buffer_bytes(600 * kMiB, 0, 512 * kMiB), std::nullopt) << "an unknown L3 may be large";
}

TEST(UncachedBytes, AreWhatTheReadBufferHasAtLeast) {
  EXPECT_EQ(uncached_bytes(32 * kMiB), 64 * kMiB);
  EXPECT_EQ(uncached_bytes(0), 256 * kMiB);
}

TEST(Ceilings, AreSteadyWhileTheMedianWindowComesNearTheBest) {
  Ceilings ceilings;
  EXPECT_TRUE(ceilings.steady());
  ceilings.steadiness = 0.9;
  EXPECT_TRUE(ceilings.steady());
  ceilings.steadiness = 0.89;
  EXPECT_FALSE(ceilings.steady());
}

TEST(CeilingsNow, AreOfTheFastestArithmeticThatIsHere) {
  constexpr std::array<std::string_view, 1> kFloat = {"fp32"};
  constexpr std::array<std::string_view, 1> kUnknown = {"fp8"};
  const auto now = measure_cpu_ceilings_now(kFloat, kMiB, 100'000);
  ASSERT_TRUE(now) << now.error().message;
  EXPECT_GT(now->gops, 0);
  EXPECT_EQ(now->arithmetic, "fp32");
  EXPECT_GT(now->typical_gops, 0);
  EXPECT_EQ(now->fp32_gops, now->gops);
  EXPECT_EQ(now->typical_fp32_gops, now->typical_gops);
  EXPECT_LE(now->typical_gops, now->gops);
  EXPECT_LE(now->typical_read_gb_per_s, now->read_gb_per_s);
  EXPECT_GE(now->read_gb_per_s, 0) << "0 where memory is scarce";
  EXPECT_EQ(measure_cpu_ceilings_now(kUnknown, kMiB, 1)->gops, 0);
}

TEST(MeasuredCeilings, AreGivenUpWhenAskedTo) {
  constexpr std::array<std::string_view, 1> kFloat = {"fp32"};
  const auto always = [] { return true; };
  const auto all = measure_cpu_ceilings({.fresh = true, .cancelled = always});
  ASSERT_FALSE(all);
  EXPECT_EQ(all.error().code, ErrorCode::kCancelled);
  const auto now = measure_cpu_ceilings_now(kFloat, kMiB, 1, always);
  ASSERT_FALSE(now);
  EXPECT_EQ(now.error().code, ErrorCode::kCancelled);
}

}  // namespace
}  // namespace inferno::backend
