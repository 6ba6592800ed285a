// Bounds on the shares that a benchmark reaches: of the ceilings that were measured beside its trials, which
// hold on any machine, where tokens a second hold on one.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bench/result.h"

namespace inferno::bench {

struct ShareBound {
  std::string_view figure;  // prompt, decode, matrices, attention: at least; rest: at most
  double percent = 0;
};

std::vector<std::string_view> share_bound_figures();
// "decode=92", "rest=6%". kInvalidArgument, with what there is, for anything else.
Result<ShareBound> parse_share_bound(std::string_view text);

// A line for each bound that a configuration misses, or that cannot be judged since what it needs was not
// measured. Medians over the trials; where the host moved the processors, over those of each place. Decode as
// if all of the LM head were read.
std::vector<std::string> missed_bounds(const Report& report, std::span<const ShareBound> bounds);

}  // namespace inferno::bench
