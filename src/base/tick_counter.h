// The processor's counter of constant rate: a third of the cost of reading the steady clock, for measuring
// what takes microseconds.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace inferno {

// Whether there is one that neither stops nor changes its rate: on x86 the time stamp counter where it is
// invariant (Intel SDM volume 3B, 18.17.1), on arm64 the virtual counter (Arm ARM, D12.2).
bool has_tick_counter();

// Of the calling thread's core; those of a socket agree. 0 on other architectures.
inline int64_t read_ticks() {
#if defined(__x86_64__)
  return static_cast<int64_t>(__rdtsc());
#elif defined(__aarch64__)
  int64_t ticks;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#else
  return 0;
#endif
}

// Both clocks at one moment.
struct TickSample {
  int64_t ticks = 0;
  int64_t ns = 0;  // of std::chrono::steady_clock
};
TickSample sample_ticks();

// Turns ticks into the nanoseconds of the steady clock.
class TickScale {
 public:
  // From three samples in order of time, a < b < c. The span from a to c gives the rate, being the longer
  // one, unless it disagrees by more than 1/1000 with that from b to c: then the machine slept in between,
  // and only one of the two clocks went on.
  TickScale(const TickSample& a, const TickSample& b, const TickSample& c);

  int64_t duration_ns(int64_t ticks) const;
  int64_t time_ns(int64_t ticks) const { return anchor_.ns + duration_ns(ticks - anchor_.ticks); }

 private:
  TickSample anchor_;
  double ns_per_tick_;
};

}  // namespace inferno
