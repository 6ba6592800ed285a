#include "backend/cpu/timed_choice.h"

#include <algorithm>
#include <span>

#include "base/log.h"

namespace inferno::backend {
namespace {

double median(std::span<double> values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

void TimedChoice::took(std::chrono::nanoseconds time, uint64_t work) {
  if (is_on_trial()) {
    // Of each pair of turns one is of either way.
    ns_per_work_[tries_second() ? 1 : 0][static_cast<size_t>(turn_ / 2)] =
        static_cast<double>(time.count()) / static_cast<double>(work);
  }
  ++turn_;
  if (turn_ == plan_.tries) {
    const auto n = static_cast<size_t>(plan_.tries / 2);
    const double first = median(std::span(ns_per_work_[0]).first(n));
    const double second = median(std::span(ns_per_work_[1]).first(n));
    second_ = second < first;
    log::event(log::Level::kDebug, "inferno::backend", plan_.second,
               {{"chosen", second_}, {"time_of_that_without", fmt::format("{:.2f}", second / first)}});
  } else if (turn_ == plan_.tries + plan_.between) {
    turn_ = 0;
  }
}

}  // namespace inferno::backend
