#include "base/thread_team.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>

#include <chrono>
#include <stdexcept>

namespace inferno {
namespace {

TEST(ThreadTeam, TakesEachTurnOnce) {
  for (const unsigned n_threads : {1u, 2u, 5u, 16u}) {
    ThreadTeam team(n_threads);
    EXPECT_EQ(team.n_threads(), n_threads);
    for (const int64_t n : {0, 1, 2, 7, 1000}) {
      std::vector<std::atomic<int>> calls(static_cast<size_t>(n));
      std::atomic<bool> known = true;
      team.run(n, [&](int64_t turn, unsigned thread) {
        ++calls[static_cast<size_t>(turn)];
        if (thread >= n_threads) known = false;
      });
      for (const auto& count : calls) EXPECT_EQ(count, 1);
      EXPECT_TRUE(known);
    }
  }
}

// A long loop after a short one and the other way round: a worker that is late must not take an old turn for
// one of the new loop.
TEST(ThreadTeam, ManyLoopsOneRightAfterTheOther) {
  ThreadTeam team(4);
  for (int64_t round = 0; round < 3000; ++round) {
    const int64_t n = round % 7 + 2;
    std::vector<int64_t> squares(
        static_cast<size_t>(n));  // not atomic: the team's own ordering is under test
    team.run(n, [&](int64_t turn, unsigned) { squares[static_cast<size_t>(turn)] = turn * turn + round; });
    for (int64_t i = 0; i < n; ++i) ASSERT_EQ(squares[static_cast<size_t>(i)], i * i + round);
  }
}

TEST(ThreadTeam, AllThreadsTakePart) {
  ThreadTeam team(3);
  std::atomic<int> arrived = 0;
  std::vector<std::atomic<int>> turns(3);
  // Each call waits until three are running at once, which needs three threads.
  team.run(3, [&](int64_t, unsigned thread) {
    ++arrived;
    while (arrived < 3) std::this_thread::yield();
    ++turns[thread];
  });
  for (const auto& count : turns) EXPECT_EQ(count, 1);
}

TEST(ThreadTeam, SleepersWakeUp) {
  ThreadTeam team(3);
  for (int round = 0; round < 3; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));  // longer than its patience
    std::atomic<int> arrived = 0;
    team.run(3, [&](int64_t, unsigned) {
      ++arrived;
      while (arrived < 3) std::this_thread::yield();
    });
    EXPECT_EQ(arrived, 3);
  }
}

TEST(ThreadTeam, TheCallerLeavesAWorkersPlace) {
  cpu_set_t before;
  ASSERT_EQ(::pthread_getaffinity_np(::pthread_self(), sizeof before, &before), 0);
  std::vector<unsigned> cpus;
  for (unsigned cpu = 0; cpu < CPU_SETSIZE && cpus.size() < 2; ++cpu) {
    if (CPU_ISSET(cpu, &before)) cpus.push_back(cpu);
  }
  if (cpus.size() < 2) GTEST_SKIP() << "one processor";
  ThreadTeam team(2, cpus);
  int n_there = 0;
  int left = 0;
  for (int round = 0; round < 100; ++round) {
    cpu_set_t workers_place;
    CPU_ZERO(&workers_place);
    CPU_SET(cpus[1], &workers_place);
    ::pthread_setaffinity_np(::pthread_self(), sizeof workers_place, &workers_place);
    ::pthread_setaffinity_np(::pthread_self(), sizeof before, &before);
    const auto is_there = [&] { return ::sched_getcpu() == static_cast<int>(cpus[1]); };
    const bool was_there = is_there();
    for (int loop = 0; loop < 64; ++loop) team.run(2, [](int64_t, unsigned) {});  // it moves now and then
    if (was_there) ++n_there;
    if (was_there && !is_there()) ++left;
    cpu_set_t after;
    ASSERT_EQ(::pthread_getaffinity_np(::pthread_self(), sizeof after, &after), 0);
    EXPECT_TRUE(CPU_EQUAL(&before, &after)) << "it may run where it might before";
  }
  if (n_there == 0) GTEST_SKIP() << "this system does not pin";
  EXPECT_GT(left, n_there / 2);  // the system may move it back
}

TEST(ThreadTeam, AnExceptionComesOutAndTheTeamGoesOn) {
  for (const unsigned n_threads : {1u, 4u}) {
    ThreadTeam team(n_threads);
    EXPECT_THROW(team.run(50, [](int64_t, unsigned) { throw std::runtime_error("turn"); }),
                 std::runtime_error);
    std::atomic<int> calls = 0;
    team.run(50, [&](int64_t, unsigned) { ++calls; });
    EXPECT_EQ(calls, 50);
  }
}

TEST(ThreadTeam, ComesAndGoesWithoutWork) {
  for (int i = 0; i < 50; ++i) ThreadTeam team(4);
}

TEST(ThreadTeam, CpusThatAreNotThereDoNotMatter) {
  const std::vector<unsigned> cpus = {0, 100'000, 4'000'000'000u};
  ThreadTeam team(3, cpus);
  std::atomic<int> calls = 0;
  team.run(10, [&](int64_t, unsigned) { ++calls; });
  EXPECT_EQ(calls, 10);
}

}  // namespace
}  // namespace inferno
