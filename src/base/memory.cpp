#include "base/memory.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

namespace inferno {
namespace {

// The number that a file holds, or nullopt ("max", absent, unreadable).
std::optional<uint64_t> number_in(const char* path) {
  std::ifstream in(path);
  uint64_t value = 0;
  if (in >> value) return value;
  return std::nullopt;
}

// The bytes of a line "KEY:   NUMBER kB" of a file in /proc.
std::optional<uint64_t> kilobytes_in(const char* path, std::string_view key) {
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    if (line.compare(0, key.size(), key) != 0) continue;
    std::istringstream rest(line.substr(key.size()));
    uint64_t kib = 0;
    if (rest >> kib) return kib * 1024;
  }
  return std::nullopt;
}

std::optional<uint64_t> control_group_left() {
  const auto limit = number_in("/sys/fs/cgroup/memory.max");
  const auto used = number_in("/sys/fs/cgroup/memory.current");
  if (!limit || !used) return std::nullopt;
  return *limit > *used ? *limit - *used : 0;
}

}  // namespace

std::optional<uint64_t> available_memory() {
  const auto machine = kilobytes_in("/proc/meminfo", "MemAvailable:");
  const auto group = control_group_left();
  if (machine && group) return std::min(*machine, *group);
  return machine ? machine : group;
}

bool reset_peak_resident_memory() {
  std::ofstream file("/proc/self/clear_refs");  // proc(5)
  return static_cast<bool>(file << "5" << std::flush);
}

std::optional<uint64_t> peak_resident_memory() {
  return kilobytes_in("/proc/self/status", "VmHWM:");
}

}  // namespace inferno
