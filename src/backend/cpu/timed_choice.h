// TimedChoice: which of some ways to compute the same is the fastest, where that depends on the processor or
// on what is computed. All are timed on the work itself, and the fastest is kept until the next trial.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>

namespace inferno::backend {

class TimedChoice {
 public:
  static constexpr int kMostWays = 3;
  static constexpr int kMostTries = 36;
  struct Plan {
    const char* what;  // is chosen, for the log
    int ways;          // 2 or 3
    int tries;    // of a trial, as many of each way: with 2 ways a power of two from 4 on, with 3 a multiple
                  // of 9; up to kMostTries
    int between;  // turns from the end of a trial to the next
  };

  explicit TimedChoice(const Plan& plan) : plan_(plan) {}

  // For the next turn: 0 .. ways - 1. The first one where nothing has been timed yet.
  int way() const { return is_on_trial() ? way_to_try() : way_; }
  // Whether it is timed to choose.
  bool is_on_trial() const { return turn_ < plan_.tries; }
  // How long that turn took, for so much work (more than none).
  void took(std::chrono::nanoseconds time, uint64_t work);

 private:
  // Of turns that come round every second or fourth time, as the loops of a layer do, each goes every way as
  // often: two ways by the Thue-Morse sequence, three in turn, a step further each time (so those that come
  // round every third or sixth time do, too).
  int way_to_try() const {
    return plan_.ways == 2 ? __builtin_parity(static_cast<unsigned>(turn_)) : (turn_ + turn_ / 3) % 3;
  }

  Plan plan_;
  int turn_ = 0;                                                                // since the trial's first
  int way_ = 0;                                                                 // as the last trial says
  std::array<std::array<double, kMostTries / 2>, kMostWays> ns_per_work_ = {};  // of each way's turns
};

}  // namespace inferno::backend
