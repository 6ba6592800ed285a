#include "base/stolen_time.h"

#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>

namespace inferno {

std::optional<std::chrono::nanoseconds> stolen_time() {
  std::ifstream stat("/proc/stat");
  std::string line;
  if (!std::getline(stat, line)) return std::nullopt;
  return stolen_time_in(line, sysconf(_SC_CLK_TCK));
}

std::optional<std::chrono::nanoseconds> stolen_time_in(std::string_view stat, long ticks_per_second) {
  std::istringstream words{std::string(stat)};
  std::string word;
  uint64_t ticks = 0;
  if (!(words >> word) || word != "cpu" || ticks_per_second <= 0) return std::nullopt;
  // user, nice, system, idle, iowait, irq, softirq, steal
  for (int i = 0; i < 8; ++i) {
    if (!(words >> ticks)) return std::nullopt;
  }
  return std::chrono::nanoseconds(ticks * (1000000000ull / static_cast<uint64_t>(ticks_per_second)));
}

}  // namespace inferno
