#include "base/large_memory.h"

#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <system_error>

#include "base/text.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  // Linux 5.14; headers may be older
#endif

namespace inferno {
namespace {

constexpr size_t kHugePage = PageMover::kHugePage;
constexpr size_t kMappingBytes = size_t{64} << 20;
// Pages that are made at once, so that threads share what takes longest of a start: so much, or two pages for
// each thread. Pieces of at least half of it have pages enough of their own; for smaller ones more is made
// than is needed yet, of which the end of a mapping may stay unused.
constexpr size_t kMadeAtOnce = size_t{16} << 20;
size_t made_at_once(const ThreadTeam& team) {
  return std::max(kMadeAtOnce, size_t{2} * team.n_threads() * kHugePage);
}
constexpr size_t kAlignment = 64;

size_t round_up(size_t bytes, size_t to) {
  return (bytes + to - 1) / to * to;
}

// Where whoever started us has chosen the nodes (numactl), or the system refuses, pages lie where the choice
// or the thread that makes them puts them.
void interleave(void* at, size_t bytes, const std::vector<unsigned>& nodes) {
  int chosen = MPOL_DEFAULT;
  if (::syscall(SYS_get_mempolicy, &chosen, nullptr, 0, nullptr, 0) != 0 || chosen != MPOL_DEFAULT) return;
  constexpr size_t kBits = 8 * sizeof(unsigned long);
  std::vector<unsigned long> mask(*std::max_element(nodes.begin(), nodes.end()) / kBits + 1);
  for (const unsigned node : nodes) mask[node / kBits] |= 1ul << (node % kBits);
  // The system counts one bit less than it is told.
  ::syscall(SYS_mbind, at, bytes, MPOL_INTERLEAVE, mask.data(), mask.size() * kBits + 1, 0);
}

// By us or by numactl: page by page over several nodes. A huge page would be on one of them, the same again
// and again.
bool is_interleaved(void* at) {
  constexpr int kWeightedInterleave = 6;  // Linux 6.9; headers may be older
  int mode = MPOL_DEFAULT;
  if (::syscall(SYS_get_mempolicy, &mode, nullptr, 0, at, MPOL_F_ADDR) != 0) return false;
  return mode == MPOL_INTERLEAVE || mode == kWeightedInterleave;
}

}  // namespace

struct LargeMemory::Mapping {
  Mapping(void* at, size_t size) : mapped(at), mapped_bytes(size) {
    const auto address = reinterpret_cast<uintptr_t>(at);
    begin = static_cast<std::byte*>(at) + (round_up(address, kHugePage) - address);
  }
  ~Mapping() { ::munmap(mapped, mapped_bytes); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  void* mapped;
  size_t mapped_bytes;
  std::byte* begin;
};

// At least `bytes`, from a huge page's border on.
Result<std::shared_ptr<LargeMemory::Mapping>> LargeMemory::make_mapping(size_t bytes) const {
  const size_t size = round_up(bytes, kHugePage) + kHugePage;
  void* at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) {
    return make_error(ErrorCode::kResource, "out of memory: {} were asked for: {}", human_bytes(bytes),
                      std::generic_category().message(errno));
  }
  auto mapping = std::make_shared<Mapping>(at, size);
  if (nodes_.size() > 1) interleave(at, size, nodes_);
  return mapping;
}

// Advice, all of it: what does not succeed happens when the memory is first written. What kind of pages it is
// to be, is said for many at once: the system lets nobody say so while pages are made.
void LargeMemory::make_pages(const std::shared_ptr<Mapping>& mapping, size_t begin, size_t end,
                             ThreadTeam& team) {
  using Clock = std::chrono::steady_clock;
  const bool is_movable = !is_interleaved(mapping->begin + begin);
  const size_t most = made_at_once(team);
  for (size_t first = begin; first < end; first += most) {
    std::byte* const part = mapping->begin + first;
    const size_t bytes = std::min(most, end - first);
    std::vector<char> is_made(bytes / kHugePage);
    const auto make = [&](bool is_huge) {
      ::madvise(part, bytes, is_huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
      team.run(static_cast<int64_t>(is_made.size()), [&](int64_t turn, unsigned) {
        const auto page = static_cast<size_t>(turn);
        if (is_made[page] || (is_huge && !page_size_.huge_are_wanted())) return;
        is_made[page] = true;
        std::byte* const at = part + page * kHugePage;
        if (!is_huge && is_movable) mover_.add(mapping, at);
        const auto start = Clock::now();
        if (::madvise(at, kHugePage, MADV_POPULATE_WRITE) != 0) *reinterpret_cast<volatile char*>(at) = 0;
        page_size_.count(is_huge, Clock::now() - start);
      });
    };
    make(page_size_.huge_are_wanted());
    if (std::find(is_made.begin(), is_made.end(), false) != is_made.end()) make(false);
  }
}

Result<std::shared_ptr<void>> LargeMemory::alloc(size_t bytes, ThreadTeam& team) {
  bytes = round_up(std::max<size_t>(bytes, 1), kAlignment);
  if (bytes > kMappingBytes / 4) {
    TRY_ASSIGN(const std::shared_ptr<Mapping> own, make_mapping(bytes));
    make_pages(own, 0, round_up(bytes, kHugePage), team);
    return std::shared_ptr<void>(own, own->begin);
  }
  if (!mapping_ || bytes > kMappingBytes - used_) {
    TRY_ASSIGN(mapping_, make_mapping(kMappingBytes));
    used_ = made_ = 0;
  }
  std::byte* data = mapping_->begin + used_;
  used_ += bytes;
  if (used_ > made_) {
    const size_t unit = bytes >= kMadeAtOnce / 2 ? kHugePage : made_at_once(team);
    const size_t needed = std::min(round_up(used_, unit), kMappingBytes);
    make_pages(mapping_, made_, needed, team);
    made_ = needed;
  }
  return std::shared_ptr<void>(mapping_, data);
}

}  // namespace inferno
