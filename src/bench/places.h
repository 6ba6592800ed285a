// Places: where the host of a virtual machine had its processors while trials ran. Processors that share a
// cache and processors that do not are two machines, with other bandwidths and other shares of them, and a
// host may change one into the other every few seconds. A median over both tells of neither.
#pragma once

#include <cstddef>
#include <vector>

#include "bench/figures.h"
#include "bench/result.h"

namespace inferno::bench {

// A line's trip (Trial::line_trips) that grew or shrank by more than this was made from another place.
constexpr double kMoved = 1.5;

// Whether the host moved the processors while the trial ran.
bool was_moved(const Trial& trial);

struct Place {
  Nanoseconds line_trip{0};  // the middle trial's
  size_t n_trials = 0;
  Figures figures;  // of its trials alone
};
// The places of a row's trials, of those of one length and those that stayed in one; the nearest processors
// first. Empty where nobody looked.
std::vector<Place> places(const ConfigResult& result, const Setting& setting);

}  // namespace inferno::bench
