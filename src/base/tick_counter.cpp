#include "base/tick_counter.h"

#include <chrono>
#include <cmath>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace inferno {
namespace {

double rate(const TickSample& from, const TickSample& to) {
  return static_cast<double>(to.ns - from.ns) / static_cast<double>(to.ticks - from.ticks);
}

}  // namespace

bool has_tick_counter() {
#if defined(__x86_64__)
  constexpr unsigned kLeaf = 0x80000007, kInvariant = 1u << 8;  // of edx
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid(kLeaf, &eax, &ebx, &ecx, &edx) != 0 && (edx & kInvariant) != 0;
#elif defined(__aarch64__)
  return true;
#else
  return false;
#endif
}

// The best of some tries: the one that nothing came between.
TickSample sample_ticks() {
  constexpr int kTries = 8;
  TickSample best;
  int64_t best_width = INT64_MAX;
  for (int i = 0; i < kTries; ++i) {
    const int64_t before = read_ticks();
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    const int64_t width = read_ticks() - before;
    if (width >= best_width) continue;
    best_width = width;
    best = {before + width / 2, std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()};
  }
  return best;
}

TickScale::TickScale(const TickSample& a, const TickSample& b, const TickSample& c)
    : anchor_(c), ns_per_tick_(rate(a, c)) {
  const double lately = rate(b, c);
  if (std::abs(ns_per_tick_ / lately - 1) > 1e-3) ns_per_tick_ = lately;
}

int64_t TickScale::duration_ns(int64_t ticks) const {
  return std::llround(static_cast<double>(ticks) * ns_per_tick_);
}

}  // namespace inferno
