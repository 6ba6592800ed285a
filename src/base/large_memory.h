// LargeMemory: memory for what is large and lives long, as weights do: in huge pages (2 MiB) where the system
// has them at hand, since the processor then reads memory faster (fewer translations, prefetching across
// them), and the pages are there at once instead of one by one.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

#include "base/result.h"
#include "base/thread_team.h"

namespace inferno {

class LargeMemory {
 public:
  // 64-byte aligned, zero; lives as long as any piece of its mapping does. Pages are made on all threads of
  // the team. kResource when the system refuses.
  Result<std::shared_ptr<void>> alloc(size_t bytes, ThreadTeam& team);

 private:
  struct Mapping;

  void make_pages(const Mapping& mapping, size_t begin, size_t end, ThreadTeam& team);

  std::shared_ptr<Mapping> mapping_;  // of small pieces; a large one has its own
  size_t used_ = 0;                   // bytes of the mapping that are handed out
  size_t made_ = 0;                   // bytes of it whose pages are there
  std::atomic<int> slow_pages_ = 0;
};

}  // namespace inferno
