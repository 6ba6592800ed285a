// How --max-seconds is shared among the configurations of a suite: by the speed seen so far, each one's least
// useful run first, what is left over in proportion to the work that each still asks for.
#pragma once

#include <cstdint>
#include <map>
#include <span>

#include "bench/suite.h"

namespace inferno::bench {

// Fewer new tokens than these say little about decoding.
constexpr int64_t kLeastNewTokens = 16;

// What prompts and new tokens cost, from the runs so far.
class Pace {
 public:
  // Without a cache a new token costs as many positions as there are by then.
  explicit Pace(bool use_kv_cache) : use_kv_cache_(use_kv_cache) {}

  // Of a run, or of as much of it as is done: `steps` tokens after the first in decode_s.
  void observe(int64_t prompt_tokens, double prompt_s, int64_t steps, double decode_s);
  bool known() const { return !prompt_s_.empty(); }

  // These need an observation; 0 without one. A prompt costs in proportion to the one observed that is
  // nearest in length. While no token after a first was seen, one is taken to cost what one of the prompt
  // does.
  double prompt_s(int64_t prompt_tokens) const;
  // Of the token that takes a sequence to `positions`.
  double step_s(int64_t positions) const;
  // Of a whole run: the first token comes with the prompt.
  double run_s(int64_t prompt_tokens, int64_t new_tokens) const;

 private:
  double work(int64_t prompt_tokens, int64_t steps) const;

  bool use_kv_cache_;
  std::map<int64_t, double> prompt_s_;  // by length
  double work_s_ = 0;                   // of a unit of work()
};

struct RowPlan {
  bool fits = true;    // there is time for the least run, those of cheaper rows put by
  double least_s = 0;  // a prompt and kLeastNewTokens, or all if there are fewer
  double left_s = 0;   // what the least runs of all that fit leave
  double budget_s = 0;
  bool is_whole = false;  // all runs of all rows fit at full length
  int warmup_runs = 0, trials = 0;
  double run_s = 0;  // of budget_s for each of these
};

// The plan of rest.front(), whose successors come after it, with left_s for them all, once the pace is known.
// As many rows as possible get their least run, the cheapest first; all runs that were asked for are made
// when they fit at full length, without warm-ups when not, and fewer trials when not even the least would.
// A row that does not fit has a plan of one least run.
RowPlan plan_row(const Pace& pace, std::span<const Config> rest, double left_s, int warmup_runs, int trials);

}  // namespace inferno::bench
