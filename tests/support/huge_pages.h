// What the system says of pages of 2 MiB.
#pragma once

#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>

namespace inferno::test {

// Bytes in huge pages of the areas that memory lies in, as the system lists them: neighbours of the same kind
// belong to an area.
inline size_t huge_bytes(const void* at, size_t bytes) {
  std::ifstream maps("/proc/self/smaps");
  const auto address = reinterpret_cast<uintptr_t>(at);
  bool is_ours = false;
  size_t sum = 0;
  for (std::string line; std::getline(maps, line);) {
    uintptr_t from = 0, to = 0;
    size_t kib = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &from, &to) == 2)
      is_ours = from < address + bytes && to > address;
    if (is_ours && std::sscanf(line.c_str(), "AnonHugePages: %zu kB", &kib) == 1) sum += kib * 1024;
  }
  return sum;
}

// Makes one of the room at a huge page's border, as the system does where it knows how (Linux 6.1) and has
// one.
inline bool can_make_huge(void* at) {
  constexpr size_t kBytes = size_t{2} << 20;
  constexpr int kCollapse = 25;  // MADV_COLLAPSE; headers may be older
  return ::madvise(at, kBytes, MADV_HUGEPAGE) == 0 && ::madvise(at, kBytes, kCollapse) == 0;
}

}  // namespace inferno::test
