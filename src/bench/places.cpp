#include "bench/places.h"

#include <algorithm>
#include <utility>

namespace inferno::bench {
namespace {

Nanoseconds line_trip(const Trial& trial) {
  return (trial.line_trips->shortest + trial.line_trips->longest) / 2;
}

bool is_further(Nanoseconds a, Nanoseconds b) {
  return static_cast<double>(a.count()) > kMoved * static_cast<double>(b.count());
}

}  // namespace

bool was_moved(const Trial& trial) {
  return trial.line_trips && is_further(trial.line_trips->longest, trial.line_trips->shortest);
}

std::vector<Place> places(const ConfigResult& result, const Setting& setting) {
  std::vector<Trial> trials = trials_of_one_length(result);
  std::erase_if(trials, [](const Trial& trial) { return !trial.line_trips || was_moved(trial); });
  std::ranges::stable_sort(trials, {}, line_trip);
  std::vector<Place> places;
  for (auto begin = trials.begin(); begin != trials.end();) {
    const auto end = std::find_if(begin, trials.end(), [&](const Trial& trial) {
      return is_further(line_trip(trial), line_trip(*begin));
    });
    ConfigResult here = result;
    here.trials.assign(begin, end);
    const size_t n = here.trials.size();
    places.push_back({line_trip(here.trials[n / 2]), n, *figures(here, setting)});
    begin = end;
  }
  return places;
}

}  // namespace inferno::bench
