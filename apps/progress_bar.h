// A one-line progress bar on stderr, drawn only on a terminal that is not dumb and gone when the work is
// done.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace inferno::apps {

// "12 s", "3 min 05 s"
std::string duration_text(double seconds);

// "1,024 of 4,096 tokens, 310 tok/s": of a text that goes through a model since `begin`.
std::string tokens_line(uint64_t done, uint64_t total, std::chrono::steady_clock::time_point begin);

class ProgressBar {
 public:
  // Draws nothing before `delay` has passed: what is quick needs none.
  explicit ProgressBar(std::chrono::milliseconds delay = {});
  ~ProgressBar() { clear(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // done of total bytes; redraws at most 20 times a second.
  void show(std::string_view what, uint64_t done, uint64_t total);
  // Any line in place of a bar; made only when it is time to draw.
  void show_line(const std::function<std::string()>& line);
  // Whether it may come to be drawn.
  bool enabled() const { return enabled_; }
  // Wipes the line, before something else is written.
  void clear();

 private:
  bool is_due();
  void draw(const std::string& line);

  bool enabled_;
  size_t width_ = 0;  // columns of the widest line drawn so far
  std::chrono::steady_clock::time_point next_;
};

}  // namespace inferno::apps
