// PageSizeChoice: whether memory begins in huge pages or in small ones, by how long those took that were
// made. Small ones are taken while huge ones are slow and most small ones are not.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>

namespace inferno {

// For any number of threads; a count that gets lost between two of them does not matter.
class PageSizeChoice {
 public:
  bool huge_are_wanted() const {
    const int slow = slow_small_;
    return huge_slowness_ < kSlowHuge || (slow >= kSlowSmall && 2 * slow >= small_);
  }

  // How long a huge page took, or all the small ones in the room of one.
  void count(bool is_huge, std::chrono::nanoseconds time) {
    const bool is_slow = time > kSlowPage;
    if (is_huge) {
      huge_slowness_ = std::max(0, huge_slowness_ + (is_slow ? 2 : -1));
    } else {
      ++small_;
      if (is_slow) ++slow_small_;
    }
  }

 private:
  // A huge page is cleared in 0.1 to 0.3 ms, and so are as many small ones. It takes several where memory is
  // in fragments and the system first moves others about, and where a virtual machine's host has to find the
  // memory, whatever its pages.
  static constexpr std::chrono::microseconds kSlowPage{1500};
  // Two in a row, or more than a third of many: a host takes 5 ms and more for each, and one alone may be of
  // a thread that lost its processor.
  static constexpr int kSlowHuge = 4;
  static constexpr int kSlowSmall = 8;

  std::atomic<int> huge_slowness_ = 0;  // two for each slow one, one less for each other
  std::atomic<int> slow_small_ = 0, small_ = 0;
};

}  // namespace inferno
