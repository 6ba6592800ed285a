#include "backend/timed_windows.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <set>
#include <thread>
#include <vector>

#include "base/cpu_topology.h"

namespace inferno::backend {
namespace {

// More threads than any CPU list names: two on each.
std::vector<unsigned> twice_each() {
  std::vector<unsigned> cpus = cpu_topology().cpus;
  cpus.resize(std::min<size_t>(cpus.size(), 4));
  const std::vector<unsigned> once = cpus;
  cpus.insert(cpus.end(), once.begin(), once.end());
  return cpus;
}

TEST(TimedWindows, EachThreadRunsOnceWithItsNumber) {
  const std::vector<unsigned> cpus = twice_each();
  std::vector<int> calls(cpus.size(), 0);
  std::vector<std::thread::id> threads(cpus.size());
  ASSERT_TRUE(run_together(cpus, [&](size_t i) {
                ++calls[i];
                threads[i] = std::this_thread::get_id();
              }).ok());
  EXPECT_EQ(calls, std::vector<int>(cpus.size(), 1));
  EXPECT_EQ(std::set(threads.begin(), threads.end()).size(), cpus.size());
}

TEST(TimedWindows, ACpuThatIsNotThereIsOnlyAWish) {
  const std::vector<unsigned> cpus = {65000};
  bool ran = false;
  ASSERT_TRUE(run_together(cpus, [&](size_t) { ran = true; }).ok());
  EXPECT_TRUE(ran);
}

TEST(TimedWindows, EveryThreadHasTheSameWindowsInOrder) {
  const std::vector<unsigned> cpus = twice_each();
  std::vector<std::vector<int>> windows(cpus.size());
  const auto n = static_cast<int>(cpus.size());
  std::atomic<int> finished = 0;
  std::atomic<bool> early = false;
  const auto timed = time_windows(cpus, [&](size_t i, int window) {
    windows[i].push_back(window);
    if (finished < window * n) early = true;  // somebody is still in the window before
    ++finished;
  });
  ASSERT_TRUE(timed.ok());
  EXPECT_GT(timed->shortest, 0);
  EXPECT_FALSE(early);
  for (size_t i = 0; i < windows.size(); ++i) {
    EXPECT_EQ(windows[i], windows[0]);
    for (size_t w = 0; w < windows[i].size(); ++w) EXPECT_EQ(windows[i][w], static_cast<int>(w));
  }
  EXPECT_GE(windows[0].size(), 3u);
}

// A window lasts until its slowest thread is done.
TEST(TimedWindows, TheShortestWindowIsNoShorterThanItsWork) {
  const std::vector<unsigned> cpus = twice_each();
  constexpr std::chrono::microseconds kWork{200};
  const auto timed = time_windows(cpus, [&](size_t i, int window) {
    if (i == cpus.size() - 1) std::this_thread::sleep_for(window == 5 ? kWork : 2 * kWork);
  });
  ASSERT_TRUE(timed.ok());
  EXPECT_GE(timed->shortest, std::chrono::duration<double>(kWork).count());
  // All windows but that one sleep twice as long.
  EXPECT_GE(timed->median, std::chrono::duration<double>(2 * kWork).count());
}

}  // namespace
}  // namespace inferno::backend
