// LargeMemory: memory for what is large and lives long, as weights do: in huge pages (2 MiB), since the
// processor then reads memory faster (fewer translations, prefetching across them), and the pages are there
// at once instead of one by one. Where the system is slow to find huge pages and small ones come sooner, and
// are read without waiting, memory begins in small ones and is moved later (page_mover.h), unless it is
// interleaved over NUMA nodes.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/page_filler.h"
#include "base/page_mover.h"
#include "base/page_size_choice.h"
#include "base/result.h"
#include "base/thread_team.h"

namespace inferno {

class LargeMemory {
 public:
  class Filling;

  // Pages are spread over the memory of these NUMA nodes, if two or more, so that all of it is read at once;
  // unless the process was started with a memory policy of its own (numactl).
  explicit LargeMemory(std::vector<unsigned> nodes = {}) : nodes_(std::move(nodes)) {}

  // 64-byte aligned, zero; lives as long as any piece of its mapping does. Pages are made on all threads of
  // the team. kResource when the system refuses.
  Result<std::shared_ptr<void>> alloc(size_t bytes, ThreadTeam& team);

  // The same for memory that is filled before anyone reads it: small pages are made with what is copied to
  // them, where the system can (page_filler.h). Until that is finished nothing else is allocated.
  Result<Filling> alloc_to_fill(size_t bytes, ThreadTeam& team);

  // Zero, from a huge page's border on, for what is written bit by bit and maybe never whole, as caches are:
  // pages are made when they are first touched, of the kind and where the system says, and moved into a huge
  // one once an eighth of its room is there (PageMover::kWorthOneIn); written() lets that be found out. With
  // several nodes they stay where they are. Where small pages are slow to read
  // (PageSizeChoice::small_are_slow_to_read) up to 128 MiB are in huge ones at once, and so is more of which
  // half (`soon` bytes) is written before long.
  Result<std::shared_ptr<void>> alloc_unwritten(size_t bytes, size_t soon = 0);
  void written() { mover_.look(); }
  // Whether alloc_unwritten() of so many begins in huge pages.
  bool begins_in_huge_pages(size_t bytes, size_t soon);

  // Moves into huge pages at once what would be moved later, for up to so long. Returns whether that was all.
  bool settle(std::chrono::milliseconds most) { return mover_.hurry(most); }

  // What it goes by; a test may have it see slow pages.
  PageSizeChoice& page_size() { return page_size_; }

 private:
  struct Mapping;
  enum class Room : char;
  struct Piece {
    std::shared_ptr<Mapping> mapping;
    size_t offset, bytes;

    std::byte* begin() const;
    std::span<Room> rooms() const;  // of huge pages, that it lies in
  };
  enum class SmallPages { kMade, kLeft };

  void look_at_small_pages();
  static Result<std::shared_ptr<Mapping>> map(size_t bytes);
  Result<std::shared_ptr<Mapping>> make_mapping(size_t bytes) const;
  Result<Piece> make_piece(size_t bytes, size_t alignment, SmallPages small, ThreadTeam& team);
  void make_pages(const std::shared_ptr<Mapping>& mapping, size_t first, size_t last, SmallPages small,
                  ThreadTeam& team);
  void end(const Filling& filling);

  std::vector<unsigned> nodes_;
  std::shared_ptr<Mapping> mapping_;  // of small pieces; a large one has its own
  PageSizeChoice page_size_;
  PageFiller filler_;
  PageMover mover_;
};

class LargeMemory::Filling {
 public:
  Filling(Filling&& other) noexcept;
  Filling& operator=(Filling&&) = delete;
  ~Filling();

  // From any thread, in any order; parts must not overlap. kResource when there is no memory for it.
  Status copy(size_t offset, const void* from, size_t bytes) const;
  // The memory, when all is copied; the rest is zero.
  std::shared_ptr<void> finish();

 private:
  friend class LargeMemory;
  Filling(LargeMemory* memory, Piece piece, bool is_by_filler);

  LargeMemory* memory_;  // null when finished
  Piece piece_;
  bool is_by_filler_;
};

}  // namespace inferno
