// PageSizeChoice: whether memory begins in huge pages or in small ones, by how long those took that were
// made. Small ones are taken while huge ones are slow and most small ones are not, neither to make nor to
// read.
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
    return small_are_slow_to_read() || huge_slowness_ < kSlowHuge ||
           (slow >= kSlowSmall && 2 * slow >= small_);
  }
  bool small_are_slow_to_read() const { return first_reading_ == FirstReading::kSlow; }
  bool knows_first_reading() const { return first_reading_ != FirstReading::kUnknown; }

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

  // How long whoever reads a small page for the first time waits for it, though it was made before.
  void count_first_reading(std::chrono::nanoseconds time) {
    first_reading_ = time > kSlowFirstReading ? FirstReading::kSlow : FirstReading::kFast;
  }

 private:
  enum class FirstReading { kUnknown, kFast, kSlow };

  // A huge page is cleared in 0.1 to 0.3 ms, and so are as many small ones. It takes several where memory is
  // in fragments and the system first moves others about, and where a virtual machine's host has to find the
  // memory, whatever its pages.
  static constexpr std::chrono::microseconds kSlowPage{1500};
  // Two in a row, or more than a third of many: a host takes 5 ms and more for each, and one alone may be of
  // a thread that lost its processor.
  static constexpr int kSlowHuge = 4;
  static constexpr int kSlowSmall = 8;
  // A translation takes 0.1 us, or little more. Where the host of a virtual machine keeps page tables of its
  // own beside the machine's (shadow paging), it takes each page over when it is read: 3.5 us, of two threads
  // at once 6, hence 1.8 to 3 ms for the room of a huge page.
  static constexpr std::chrono::microseconds kSlowFirstReading{1};

  std::atomic<int> huge_slowness_ = 0;  // two for each slow one, one less for each other
  std::atomic<int> slow_small_ = 0, small_ = 0;
  std::atomic<FirstReading> first_reading_ = FirstReading::kUnknown;
};

}  // namespace inferno
