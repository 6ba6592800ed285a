#include "backend/line_trip.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>

#include "backend/timed_windows.h"
#include "base/cpu_topology.h"

namespace inferno::backend {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

constexpr int kTrips = 500;  // of a window
constexpr int kWindows =
    40;  // the shortest is believed: others, and a clock that is still slow, only lengthen it
constexpr size_t kMostPairs = 8;

// A count that two threads raise in turn, thread 0 to odd numbers; in a line of its own.
struct alignas(128) Ball {
  std::atomic<uint32_t> count{0};

  void await(uint32_t n) const {
    constexpr int kSpins = 10000;  // then the other one may need this processor
    for (int spins = 0; count.load(std::memory_order_acquire) != n; ++spins) {
      if (spins >= kSpins) std::this_thread::yield();
    }
  }
};

std::optional<nanoseconds> trip_between(unsigned first, unsigned second) {
  Ball ball;
  auto shortest = nanoseconds::max();
  const Status run = run_together(std::array{first, second}, [&](size_t thread) {
    uint32_t n = 0;
    for (int window = 0; window < kWindows; ++window) {
      const auto start = Clock::now();
      for (int i = 0; i < kTrips; ++i, n += 2) {
        ball.await(n + static_cast<uint32_t>(thread));
        ball.count.store(n + static_cast<uint32_t>(thread) + 1, std::memory_order_release);
      }
      if (thread == 0) shortest = std::min<nanoseconds>(shortest, (Clock::now() - start) / kTrips);
    }
  });
  return run ? std::optional(shortest) : std::nullopt;
}

}  // namespace

std::optional<nanoseconds> line_trip(unsigned threads) {
  const CpuTopology topology = cpu_topology();
  const size_t n = std::min({static_cast<size_t>(threads), topology.cpus.size(), kMostPairs + 1});
  std::optional<nanoseconds> longest;
  for (size_t i = 1; i < n; ++i) {
    const auto trip = trip_between(topology.cpus[0], topology.cpus[i]);
    if (!trip) return std::nullopt;
    longest = std::max(longest.value_or(*trip), *trip);
  }
  return longest;
}

}  // namespace inferno::backend
