#include "base/memory.h"

#include <algorithm>
#include <fstream>
#include <string>

namespace inferno {
namespace {

// The number that a file holds, or nullopt ("max", absent, unreadable).
std::optional<uint64_t> number_in(const char* path) {
  std::ifstream in(path);
  uint64_t value = 0;
  if (in >> value) return value;
  return std::nullopt;
}

std::optional<uint64_t> machine_available() {
  std::ifstream in("/proc/meminfo");
  std::string key;
  uint64_t kib = 0;
  std::string unit;
  while (in >> key >> kib) {
    std::getline(in, unit);
    if (key == "MemAvailable:") return kib * 1024;
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
  const auto machine = machine_available();
  const auto group = control_group_left();
  if (machine && group) return std::min(*machine, *group);
  return machine ? machine : group;
}

}  // namespace inferno
