// FetchTrial: whether products that are bound by reading their weights (kernels::kStreamedRows) ask for them
// ahead. Some processors foresee such a stream by themselves, and hints cost up to a third of the speed;
// others gain half as much again (docs/decisions/001). So both are timed on the work itself, and the faster
// is kept until the next trial.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>

namespace inferno::backend {

class FetchTrial {
 public:
  static constexpr int kLoopsOfTrial = 32;    // half of them either way
  static constexpr int kLoopsBetween = 8192;  // some seventy tokens of a small model

  // For the next loop of products: PanelMatmulParams::fetches.
  bool fetches() const { return is_on_trial() ? tries_fetching() : fetches_; }
  // How long that loop took, for so many bytes of weights (more than none).
  void took(std::chrono::nanoseconds time, uint64_t bytes);

 private:
  bool is_on_trial() const { return loop_ < kLoopsOfTrial; }
  // By the Thue-Morse sequence: of loops that come round every second, fourth or eighth time, as those of a
  // layer do, each has as many turns of either.
  bool tries_fetching() const { return __builtin_parity(static_cast<unsigned>(loop_)) != 0; }

  int loop_ = 0;                                                           // since the trial's first
  bool fetches_ = false;                                                   // as the last trial says
  std::array<std::array<double, kLoopsOfTrial / 2>, 2> ns_per_byte_ = {};  // without, with
};

}  // namespace inferno::backend
