#include "backend/cpu/fetch_trial.h"

#include <algorithm>

#include "base/log.h"

namespace inferno::backend {
namespace {

template <size_t kN>
double median(std::array<double, kN> values) {
  const auto middle = values.begin() + kN / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

void FetchTrial::took(std::chrono::nanoseconds time, uint64_t bytes) {
  if (is_on_trial()) {
    // Of each pair of loops one is of either way.
    ns_per_byte_[tries_fetching() ? 1 : 0][static_cast<size_t>(loop_ / 2)] =
        static_cast<double>(time.count()) / static_cast<double>(bytes);
  }
  ++loop_;
  if (loop_ == kLoopsOfTrial) {
    const double without = median(ns_per_byte_[0]);
    const double with = median(ns_per_byte_[1]);
    fetches_ = with < without;
    log::event(log::Level::kDebug, "inferno::backend", "weights fetched ahead",
               {{"chosen", fetches_}, {"time_of_that_without", fmt::format("{:.2f}", with / without)}});
  } else if (loop_ == kLoopsOfTrial + kLoopsBetween) {
    loop_ = 0;
  }
}

}  // namespace inferno::backend
