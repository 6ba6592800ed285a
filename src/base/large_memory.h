// LargeMemory: memory for what is large and lives long, as weights do: in huge pages (2 MiB), since the
// processor then reads memory faster (fewer translations, prefetching across them), and the pages are there
// at once instead of one by one. Where the system is slow to find huge pages and small ones come sooner,
// memory begins in small ones and is moved later (page_mover.h), unless it is interleaved over NUMA nodes.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "base/page_mover.h"
#include "base/page_size_choice.h"
#include "base/result.h"
#include "base/thread_team.h"

namespace inferno {

class LargeMemory {
 public:
  // Pages are spread over the memory of these NUMA nodes, if two or more, so that all of it is read at once;
  // unless the process was started with a memory policy of its own (numactl).
  explicit LargeMemory(std::vector<unsigned> nodes = {}) : nodes_(std::move(nodes)) {}

  // 64-byte aligned, zero; lives as long as any piece of its mapping does. Pages are made on all threads of
  // the team. kResource when the system refuses.
  Result<std::shared_ptr<void>> alloc(size_t bytes, ThreadTeam& team);

  // Moves into huge pages at once what would be moved later, for up to so long. Returns whether that was all.
  bool settle(std::chrono::milliseconds most) { return mover_.hurry(most); }

 private:
  struct Mapping;

  Result<std::shared_ptr<Mapping>> make_mapping(size_t bytes) const;
  void make_pages(const std::shared_ptr<Mapping>& mapping, size_t begin, size_t end, ThreadTeam& team);

  std::vector<unsigned> nodes_;
  std::shared_ptr<Mapping> mapping_;  // of small pieces; a large one has its own
  size_t used_ = 0;                   // bytes of the mapping that are handed out
  size_t made_ = 0;                   // bytes of it whose pages are there
  PageSizeChoice page_size_;
  PageMover mover_;
};

}  // namespace inferno
