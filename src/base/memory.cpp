#include "base/memory.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include "base/text.h"

namespace inferno {
namespace {

// The number that a file holds, or nullopt ("max", absent, unreadable).
std::optional<uint64_t> number_in(const std::string& path) {
  std::ifstream in(path);
  uint64_t value = 0;
  if (in >> value) return value;
  return std::nullopt;
}

// The number behind `key` at a line's beginning.
std::optional<uint64_t> number_behind(const std::string& path, std::string_view key) {
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    if (line.compare(0, key.size(), key) != 0) continue;
    std::istringstream rest(line.substr(key.size()));
    uint64_t value = 0;
    if (rest >> value) return value;
  }
  return std::nullopt;
}

// Of a file in /proc, whose lines are "KEY:   NUMBER kB".
std::optional<uint64_t> kilobytes_in(const std::string& path, std::string_view key) {
  const auto kib = number_behind(path, key);
  return kib ? std::optional(*kib * 1024) : std::nullopt;
}

}  // namespace

std::optional<uint64_t> control_group_left(const std::string& folder) {
  const auto limit = number_in(folder + "/memory.max");
  const auto used = number_in(folder + "/memory.current");
  if (!limit || !used) return std::nullopt;
  const std::string stat = folder + "/memory.stat";
  const uint64_t cached =
      number_behind(stat, "active_file ").value_or(0) + number_behind(stat, "inactive_file ").value_or(0);
  const uint64_t held = *used > cached ? *used - cached : 0;
  return *limit > held ? *limit - held : 0;
}

std::optional<uint64_t> available_memory() {
  const auto machine = kilobytes_in("/proc/meminfo", "MemAvailable:");
  const auto group = control_group_left("/sys/fs/cgroup");
  if (machine && group) return std::min(*machine, *group);
  return machine ? machine : group;
}

std::string memory_left_text(uint64_t refused_bytes) {
  const auto left = available_memory();
  if (!left) return "nobody knows how many are available";
  return fmt::format("{} are available{}", human_bytes(*left),
                     *left < refused_bytes ? "" : ", but not to this process (look at ulimit -v)");
}

bool reset_peak_resident_memory() {
  std::ofstream file("/proc/self/clear_refs");  // proc(5)
  return static_cast<bool>(file << "5" << std::flush);
}

std::optional<uint64_t> peak_resident_memory() {
  return kilobytes_in("/proc/self/status", "VmHWM:");
}

}  // namespace inferno
