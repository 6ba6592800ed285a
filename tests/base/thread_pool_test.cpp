#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <stdexcept>
#include <string>

namespace inferno {
namespace {

TEST(ThreadPool, CallsEachIndexOnce) {
  for (const size_t n_threads : {1u, 2u, 5u}) {
    ThreadPool pool(n_threads);
    EXPECT_EQ(pool.n_threads(), n_threads);
    for (const size_t n : {0u, 1u, 2u, 7u, 1000u}) {
      std::vector<std::atomic<int>> calls(n);
      pool.parallel_for(n, [&](size_t i) { ++calls[i]; });
      for (size_t i = 0; i < n; ++i)
        EXPECT_EQ(calls[i], 1) << n_threads << " threads, index " << i << " of " << n;
    }
  }
}

TEST(ThreadPool, ResultsAreThereWhenItReturns) {
  ThreadPool pool(4);
  for (int round = 0; round < 200; ++round) {
    std::vector<int> squares(17);  // not atomic: the pool's own ordering is under test (with TSan)
    pool.parallel_for(squares.size(), [&](size_t i) { squares[i] = static_cast<int>(i * i); });
    for (size_t i = 0; i < squares.size(); ++i) ASSERT_EQ(squares[i], static_cast<int>(i * i));
  }
}

TEST(ThreadPool, AllThreadsTakePart) {
  ThreadPool pool(3);
  std::atomic<size_t> arrived = 0;
  std::mutex mutex;
  std::set<std::thread::id> threads;
  // Each call waits until three are running at once, which needs three threads.
  pool.parallel_for(3, [&](size_t) {
    ++arrived;
    while (arrived < 3) std::this_thread::yield();
    const std::lock_guard lock(mutex);
    threads.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(threads.size(), 3u);
  EXPECT_TRUE(threads.contains(std::this_thread::get_id()));
}

TEST(ThreadPool, ZeroMeansOnePerCpu) {
  EXPECT_EQ(ThreadPool().n_threads(), std::max(1u, std::thread::hardware_concurrency()));
}

TEST(ThreadPool, AnExceptionComesOutAndThePoolGoesOn) {
  for (const size_t n_threads : {1u, 4u}) {
    ThreadPool pool(n_threads);
    std::atomic<int> calls = 0;
    try {
      pool.parallel_for(100'000, [&](size_t i) {
        ++calls;
        if (i == 3) throw std::runtime_error("index 3");
      });
      FAIL() << "nothing thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_EQ(error.what(), std::string("index 3"));
    }
    EXPECT_GE(calls, 4);
    calls = 0;
    pool.parallel_for(10, [&](size_t) { ++calls; });
    EXPECT_EQ(calls, 10);
  }
}

TEST(ThreadPool, OneOfManyExceptionsComesOut) {
  ThreadPool pool(4);
  EXPECT_THROW(pool.parallel_for(1000, [](size_t) { throw std::invalid_argument("each"); }),
               std::invalid_argument);
}

TEST(ThreadPool, ALoopInsideALoopRunsOnItsOwnThread) {
  ThreadPool pool(3);
  std::vector<std::vector<int>> table(8, std::vector<int>(8));
  pool.parallel_for(8, [&](size_t row) {
    const auto outer = std::this_thread::get_id();
    pool.parallel_for(8, [&](size_t column) {
      EXPECT_EQ(std::this_thread::get_id(), outer);
      table[row][column] = 1;
    });
  });
  for (const auto& row : table) EXPECT_EQ(row, std::vector<int>(8, 1));
}

TEST(ThreadPool, CallersTakeTurns) {
  ThreadPool pool(3);
  std::vector<std::thread> callers;
  std::atomic<int> calls = 0;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      for (int round = 0; round < 50; ++round) pool.parallel_for(10, [&](size_t) { ++calls; });
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(calls, 4 * 50 * 10);
}

}  // namespace
}  // namespace inferno
