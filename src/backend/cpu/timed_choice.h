// TimedChoice: which of some ways to compute the same is the fastest, where that depends on the processor or
// on what is computed. All are timed on the work itself, and the fastest is kept until the next trial.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

namespace inferno::backend {

// Of weights, or of keys and values, fewer bytes than this may stay in a cache from one token to the next:
// how they are read is no choice.
constexpr uint64_t kUncachedBytes = 256 * 1024;

class TimedChoice {
 public:
  static constexpr int kMostWays = 5;
  static constexpr int kMostTries = 192;
  struct Plan {
    const char* what;  // is chosen, for the log
    int ways;          // 2 to 5
    int tries;    // of a trial, as many of each way: with 2 ways a power of two from 4 on, with 3 a multiple
                  // of 9, with 4 of 12, or of 48 where turns come round, with 5 of 60; up to kMostTries
    int between;  // turns from the end of a trial to the next
    // Turns from the first trial to the second; then twice as many each time, up to `between`, so that a
    // trial that was disturbed is soon made up for. 0: `between` from the first one on.
    int first_pause = 0;
  };

  explicit TimedChoice(const Plan& plan)
      : plan_(plan), pause_(plan.first_pause == 0 ? plan.between : plan.first_pause) {}

  // For the next turn: 0 .. ways - 1. The first one where nothing has been timed yet.
  int way() const { return is_on_trial() ? way_to_try() : way_; }
  // Whether it is timed to choose.
  bool is_on_trial() const { return turn_ < plan_.tries; }
  // How long that turn took, for so much work (more than none).
  void took(std::chrono::nanoseconds time, uint64_t work);

 private:
  // Of turns that come round every second or fourth time, as the loops of a layer do, each goes every way as
  // often: two ways by the Thue-Morse sequence, three in turn, a step further each time (so those that come
  // round every third or sixth time do, too), four in turn, a step further after each twelve, five in turn
  // (but those that come round every fifth time, of which each goes one way).
  int way_to_try() const {
    if (plan_.ways == 2) return __builtin_parity(static_cast<unsigned>(turn_));
    if (plan_.ways == 3) return (turn_ + turn_ / 3) % 3;
    return plan_.ways == 4 ? (turn_ + turn_ / 12) % 4 : turn_ % 5;
  }

  Plan plan_;
  int turn_ = 0;  // since the trial's first
  int pause_;     // turns after the trial
  int way_ = 0;   // as the last trial says
  // Times of a trial's turns, those of each way together. Made by its first turn: a backend has hundreds of
  // choices, few of which a model comes to.
  std::vector<double> ns_per_work_;
};

}  // namespace inferno::backend
