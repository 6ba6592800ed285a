#include "backend/cpu/timed_choice.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>

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
  const int tries_each = plan_.tries / plan_.ways;
  if (is_on_trial()) {
    ns_per_work_.resize(static_cast<size_t>(plan_.tries));
    // Of as many turns as there are ways, one is of each.
    ns_per_work_[static_cast<size_t>(way_to_try() * tries_each + turn_ / plan_.ways)] =
        static_cast<double>(time.count()) / static_cast<double>(work);
  }
  ++turn_;
  if (turn_ == plan_.tries) {
    const auto n = static_cast<size_t>(tries_each);
    std::array<double, kMostWays> medians = {};
    for (size_t i = 0; i < static_cast<size_t>(plan_.ways); ++i)
      medians[i] = median(std::span(ns_per_work_).subspan(i * n, n));
    const auto end = medians.begin() + plan_.ways;
    way_ = static_cast<int>(std::min_element(medians.begin(), end) - medians.begin());
    std::string ratios;
    for (auto each = medians.begin(); each != end; ++each)
      ratios += fmt::format("{}{:.2f}", ratios.empty() ? "" : " ", *each / medians[0]);
    log::event(log::Level::kDebug, "inferno::backend", plan_.what,
               {{"way", way_}, {"times_as_ratios_of_the_first", ratios}});
  } else if (turn_ == plan_.tries + pause_) {
    turn_ = 0;
    pause_ = std::min(2 * pause_, plan_.between);
  }
}

}  // namespace inferno::backend
