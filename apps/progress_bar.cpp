#include "apps/progress_bar.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

#include "apps/output.h"
#include "apps/table.h"
#include "base/environment.h"
#include "base/text.h"

namespace inferno::apps {

std::string duration_text(double seconds) {
  if (seconds < 60) return fmt::format("{:.0f} s", seconds);
  return fmt::format("{:.0f} min {:02.0f} s", std::floor(seconds / 60), std::floor(std::fmod(seconds, 60)));
}

std::string tokens_line(uint64_t done, uint64_t total, std::chrono::steady_clock::time_point begin) {
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  return fmt::format("{} of {} tokens, {:.0f} tok/s", group_digits(done), group_digits(total),
                     static_cast<double>(done) / elapsed.count());
}

// Without escape codes: \r goes back, spaces wipe out.
ProgressBar::ProgressBar(std::chrono::milliseconds delay)
    : enabled_(stderr_is_terminal() && environment::get("TERM").value_or("dumb") != "dumb"),
      next_(std::chrono::steady_clock::now() + delay) {}

void ProgressBar::clear() {
  if (width_ > 0) std::fputs(fmt::format("\r{:{}}\r", "", width_).c_str(), stderr);
  width_ = 0;
}

void ProgressBar::show(std::string_view what, uint64_t done, uint64_t total) {
  if (total == 0 || !is_due()) return;
  constexpr uint64_t kWidth = 24;
  const uint64_t filled = done >= total ? kWidth : done * kWidth / total;
  std::string bar;
  for (uint64_t i = 0; i < kWidth; ++i) bar += i < filled ? "█" : "░";
  const std::string line = fmt::format("{} {} {:3}%  {} of {}", what, bar, done * 100 / total,
                                       human_bytes(done), human_bytes(total));
  draw(line);
}

void ProgressBar::show_line(const std::function<std::string()>& line) {
  if (is_due()) draw(line());
}

bool ProgressBar::is_due() {
  const auto now = std::chrono::steady_clock::now();
  if (!enabled_ || now < next_) return false;
  next_ = now + std::chrono::milliseconds(50);
  return true;
}

void ProgressBar::draw(const std::string& whole) {
  // A line that wraps would leave its upper half behind; the terminal may be narrower than it was.
  const size_t columns = std::max<size_t>(stderr_columns().value_or(80), 2) - 1;
  const std::string line = shortened(whole, columns);
  width_ = std::min(width_, columns);
  std::fputs(("\r" + padded(line, width_, Align::kLeft)).c_str(), stderr);
  width_ = std::max(width_, display_width(line));
}

}  // namespace inferno::apps
