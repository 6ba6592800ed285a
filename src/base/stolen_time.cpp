#include "base/stolen_time.h"

#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <string>

namespace inferno {

std::optional<std::chrono::nanoseconds> stolen_time() {
  std::ifstream stat("/proc/stat");
  std::string word;
  uint64_t ticks = 0;
  if (!(stat >> word) || word != "cpu") return std::nullopt;
  // user, nice, system, idle, iowait, irq, softirq, steal
  for (int i = 0; i < 8; ++i) {
    if (!(stat >> ticks)) return std::nullopt;
  }
  const long per_second = sysconf(_SC_CLK_TCK);
  if (per_second <= 0) return std::nullopt;
  return std::chrono::nanoseconds(ticks * (1000000000ull / static_cast<uint64_t>(per_second)));
}

}  // namespace inferno
