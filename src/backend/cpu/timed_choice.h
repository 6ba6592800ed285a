// TimedChoice: which of two ways to compute the same is faster, where that depends on the processor or on
// what is computed. Both are timed on the work itself, and the faster is kept until the next trial.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>

namespace inferno::backend {

class TimedChoice {
 public:
  static constexpr int kMostTries = 32;
  struct Plan {
    const char* second;  // what the second way is, for the log
    int tries;           // of a trial, half of them either way: a power of two, 4 to kMostTries
    int between;         // turns from the end of a trial to the next
  };

  explicit TimedChoice(const Plan& plan) : plan_(plan) {}

  // For the next turn.
  bool takes_second() const { return is_on_trial() ? tries_second() : second_; }
  // Whether it is timed to choose.
  bool is_on_trial() const { return turn_ < plan_.tries; }
  // How long that turn took, for so much work (more than none).
  void took(std::chrono::nanoseconds time, uint64_t work);

 private:
  // By the Thue-Morse sequence: of turns that come round every second, fourth or eighth time, as the loops of
  // a layer do, each goes either way as often.
  bool tries_second() const { return __builtin_parity(static_cast<unsigned>(turn_)) != 0; }

  Plan plan_;
  int turn_ = 0;                                                        // since the trial's first
  bool second_ = false;                                                 // as the last trial says
  std::array<std::array<double, kMostTries / 2>, 2> ns_per_work_ = {};  // of either way
};

}  // namespace inferno::backend
