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
#include <deque>
#include <system_error>

#include "base/non_temporal.h"
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
// Copies of this size and more tell how long small pages take; the clock does not see much of less.
constexpr size_t kTimedCopy = size_t{32} << 10;

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
  size_t used = 0;  // bytes that are handed out
  size_t made = 0;  // bytes whose pages are there, but for those below
  // Huge pages' rooms whose small pages were left to who fills them; the mover gets them when that is done.
  std::deque<std::byte*> left;
  bool has_left = false;
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

// Up to `end`. Advice, all of it: what does not succeed happens when the memory is first written. What kind
// of pages it is to be, is said for many at once: the system lets nobody say so while pages are made.
void LargeMemory::make_pages(const std::shared_ptr<Mapping>& mapping, size_t end, SmallPages small,
                             ThreadTeam& team) {
  using Clock = std::chrono::steady_clock;
  const bool is_movable = !is_interleaved(mapping->begin + mapping->made);
  const size_t most = made_at_once(team);
  for (; mapping->made < end; mapping->made += std::min(most, end - mapping->made)) {
    std::byte* const part = mapping->begin + mapping->made;
    const size_t bytes = std::min(most, end - mapping->made);
    std::vector<char> is_made(bytes / kHugePage);
    const auto make = [&](bool is_huge) {
      ::madvise(part, bytes, is_huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
      if (!is_huge && small == SmallPages::kLeft) {
        for (size_t page = 0; page < is_made.size(); ++page) {
          if (!is_made[page] && is_movable) mapping->left.push_back(part + page * kHugePage);
        }
        mapping->has_left = true;
        return;
      }
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
    if (page_size_.huge_are_wanted()) make(true);
    if (std::find(is_made.begin(), is_made.end(), false) != is_made.end()) make(false);
  }
}

Result<LargeMemory::Piece> LargeMemory::make_piece(size_t bytes, size_t alignment, SmallPages small,
                                                   ThreadTeam& team) {
  bytes = round_up(std::max<size_t>(bytes, 1), alignment);
  if (bytes > kMappingBytes / 4) {
    TRY_ASSIGN(const std::shared_ptr<Mapping> own, make_mapping(bytes));
    own->used = bytes;
    make_pages(own, round_up(bytes, kHugePage), small, team);
    return Piece{own, own->begin, bytes};
  }
  const auto has_room = [&] { return round_up(mapping_->used, alignment) + bytes <= kMappingBytes; };
  if (!mapping_ || !has_room()) {
    if (mapping_) move_left(mapping_, mapping_->begin + kMappingBytes);
    TRY_ASSIGN(mapping_, make_mapping(kMappingBytes));
  }
  const size_t offset = round_up(mapping_->used, alignment);
  mapping_->used = offset + bytes;
  if (mapping_->used > mapping_->made) {
    const size_t unit = bytes >= kMadeAtOnce / 2 ? kHugePage : made_at_once(team);
    make_pages(mapping_, std::min(round_up(mapping_->used, unit), kMappingBytes), small, team);
  }
  return Piece{mapping_, mapping_->begin + offset, bytes};
}

Result<std::shared_ptr<void>> LargeMemory::alloc(size_t bytes, ThreadTeam& team) {
  TRY_ASSIGN(const Piece piece, make_piece(bytes, kAlignment, SmallPages::kMade, team));
  return std::shared_ptr<void>(piece.mapping, piece.begin);
}

// From a page's border to one: nobody else touches pages that are being filled.
Result<LargeMemory::Filling> LargeMemory::alloc_to_fill(size_t bytes, ThreadTeam& team) {
  const auto small = filler_.is_possible() ? SmallPages::kLeft : SmallPages::kMade;
  TRY_ASSIGN(Piece piece, make_piece(bytes, static_cast<size_t>(::sysconf(_SC_PAGESIZE)), small, team));
  const bool is_by_filler = piece.mapping->has_left && filler_.begin(piece.begin, piece.bytes);
  return Filling(this, std::move(piece), is_by_filler);
}

// The mover is told of rooms once all in them is filled, as it cannot move what the filler has.
void LargeMemory::move_left(const std::shared_ptr<Mapping>& mapping, const std::byte* filled_to) {
  for (; !mapping->left.empty() && mapping->left.front() + kHugePage <= filled_to; mapping->left.pop_front())
    mover_.add(mapping, mapping->left.front());
}

void LargeMemory::end(const Filling& filling) {
  const Piece& piece = filling.piece_;
  if (filling.is_by_filler_) filler_.end(piece.begin, piece.bytes);
  const size_t room = piece.mapping == mapping_ ? piece.bytes : round_up(piece.bytes, kHugePage);
  move_left(piece.mapping, piece.begin + room);
}

LargeMemory::Filling::Filling(LargeMemory* memory, Piece piece, bool is_by_filler)
    : memory_(memory), piece_(std::move(piece)), is_by_filler_(is_by_filler) {}

LargeMemory::Filling::Filling(Filling&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)),
      piece_(std::move(other.piece_)),
      is_by_filler_(other.is_by_filler_) {}

LargeMemory::Filling::~Filling() {
  if (memory_ != nullptr) memory_->end(*this);
}

Status LargeMemory::Filling::copy(size_t offset, const void* from, size_t bytes) const {
  std::byte* const to = piece_.begin + offset;
  if (!is_by_filler_) {
    non_temporal_copy(to, from, bytes);
    return {};
  }
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  const bool is_copied = memory_->filler_.copy(to, from, bytes);
  if (bytes >= kTimedCopy) memory_->page_size_.count(false, (Clock::now() - start) * kHugePage / bytes);
  if (is_copied) return {};
  return make_error(ErrorCode::kResource, "out of memory: {} were to be filled", human_bytes(piece_.bytes));
}

std::shared_ptr<void> LargeMemory::Filling::finish() {
  std::exchange(memory_, nullptr)->end(*this);
  return std::shared_ptr<void>(std::move(piece_.mapping), piece_.begin);
}

}  // namespace inferno
