#include "apps/progress_bar.h"

#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "apps/output.h"
#include "base/text.h"

namespace inferno::apps {

ProgressBar::ProgressBar() : enabled_(stderr_is_terminal()), next_(std::chrono::steady_clock::now()) {}

ProgressBar::~ProgressBar() {
  if (drawn_) std::fputs("\r\x1b[K", stderr);
}

void ProgressBar::show(std::string_view what, uint64_t done, uint64_t total) {
  const auto now = std::chrono::steady_clock::now();
  if (!enabled_ || total == 0 || now < next_) return;
  next_ = now + std::chrono::milliseconds(50);
  constexpr uint64_t kWidth = 24;
  const uint64_t filled = done >= total ? kWidth : done * kWidth / total;
  std::string bar;
  for (uint64_t i = 0; i < kWidth; ++i) bar += i < filled ? "█" : "░";
  const std::string line = fmt::format("\r{} {} {:3}%  {} of {}\x1b[K", what, bar, done * 100 / total, human_bytes(done),
                                       human_bytes(total));
  std::fputs(line.c_str(), stderr);
  drawn_ = true;
}

}  // namespace inferno::apps
