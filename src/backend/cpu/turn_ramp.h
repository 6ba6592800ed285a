// TurnRamp: the turns in which a thread goes through a product. A turn is `most` units of the weights (of a
// run), while the next turn's may be fetched. But where it says so, a loop of the team begins with `least`
// units, then twice as many at each turn, since what it begins with nobody has fetched; and it ends with
// fewer and fewer, since others wait for the last turn.
#pragma once

#include <algorithm>
#include <cstdint>

namespace inferno::backend {

class TurnRamp {
 public:
  TurnRamp() = default;
  // For threads with up to n units each. 1 <= least <= most.
  TurnRamp(int64_t n, int64_t least, int64_t most, bool begins_loop, bool ends_loop) {
    if (ends_loop && !begins_loop && n <= most) most = std::max(least, n - least);  // not all at once
    int64_t n_doublings = 0;
    while (least << n_doublings < most) ++n_doublings;
    first_ = {most, least, begins_loop ? n_doublings : 0};
    last_ = {most, least, ends_loop ? n_doublings : 0};
    // Turn by turn, from the edge that has come less far.
    int64_t n_last = 0;
    while (first_.units(n_first_) + last_.units(n_last) < n)
      ++(first_.units(n_first_) <= last_.units(n_last) ? n_first_ : n_last);
    n_turns_ = n_first_ + n_last;
  }

  int64_t n_turns() const { return n_turns_; }
  // Where turn i of a thread with n units, or with one less, begins; that of n_turns() is the end. There may
  // be empty turns.
  int64_t begin(int64_t i, int64_t n) const {
    const int64_t forward = std::min(first_.units(std::min(i, n_first_)), n);
    return i <= n_first_ ? forward : std::max(forward, n - last_.units(n_turns_ - i));
  }

 private:
  // Turns from an edge on, of which so many are smaller.
  struct Edge {
    int64_t most = 1, least = 1;
    int64_t n_doublings = 0;

    int64_t units(int64_t turns) const {
      const int64_t doubled = std::min(turns, n_doublings);
      return least * ((int64_t{1} << doubled) - 1) + (turns - doubled) * most;
    }
  };

  Edge first_, last_;
  int64_t n_first_ = 0;  // turns that are counted from the beginning on
  int64_t n_turns_ = 0;
};

}  // namespace inferno::backend
