// A one-line progress bar on stderr, drawn only on a terminal and gone when the work is done.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

namespace inferno::apps {

class ProgressBar {
 public:
  ProgressBar();
  ~ProgressBar();  // clears the line
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // done of total bytes; redraws at most 20 times a second.
  void show(std::string_view what, uint64_t done, uint64_t total);

 private:
  bool enabled_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace inferno::apps
