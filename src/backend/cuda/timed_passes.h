// How long the same work takes when it is put into a stream again and again, by the device's own clock.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include "backend/cuda/runtime.h"

namespace inferno::backend::cuda {

struct PassTimes {
  double shortest_ms = 0, median_ms = 0;
};

// Of 20 passes, or of fewer, but one at least, where these have taken most_ms; put() puts one into the
// stream. Each is waited for before the next.
template <class Put>
Result<PassTimes> time_passes(std::string_view doing, cudaStream_t stream, const Put& put,
                              double most_ms = 1e9) {
  constexpr size_t kPasses = 20;
  TRY_ASSIGN(const OwnedEvent begin, make_event());
  TRY_ASSIGN(const OwnedEvent end, make_event());
  std::vector<double> times;
  for (double all = 0; times.size() < kPasses && all < most_ms; all += times.back()) {
    float ms = 0;
    TRY(check(doing, cudaEventRecord(begin.get(), stream)));
    TRY(put());
    TRY(check(doing, cudaEventRecord(end.get(), stream)));
    TRY(check(doing, cudaEventSynchronize(end.get())));
    TRY(check(doing, cudaEventElapsedTime(&ms, begin.get(), end.get())));
    times.push_back(ms);
  }
  std::sort(times.begin(), times.end());
  return PassTimes{times.front(), times[times.size() / 2]};
}

}  // namespace inferno::backend::cuda
