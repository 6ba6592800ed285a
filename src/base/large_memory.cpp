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
#include <cstring>
#include <span>
#include <system_error>
#include <utility>

#include "base/memory.h"
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

// Memory that is written bit by bit is in huge pages from the start, where small ones are slow to read, if it
// is no larger than this or one in so many of its bytes is written before long: with the first positions of
// keys and values nearly all of it is made.
constexpr size_t kSmallEnough = size_t{128} << 20;
constexpr size_t kWorthOneSoonIn = 2;

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

// By us or, for all that the process has, by numactl: page by page over several nodes. A huge page would be
// on one of them, the same again and again.
bool is_interleaved(void* at = nullptr) {
  constexpr int kWeightedInterleave = 6;  // Linux 6.9; headers may be older
  const auto is_so = [](void* of, unsigned long flags) {
    int mode = MPOL_DEFAULT;
    if (::syscall(SYS_get_mempolicy, &mode, nullptr, 0, of, flags) != 0) return false;
    return mode == MPOL_INTERLEAVE || mode == kWeightedInterleave;
  };
  return (at != nullptr && is_so(at, MPOL_F_ADDR)) || is_so(nullptr, 0);
}

// Of a small page that the system has made, but nobody has touched: the quicker of two tries. 0 where the
// system makes none ahead, or has no memory.
std::chrono::nanoseconds time_first_reading() {
  using Clock = std::chrono::steady_clock;
  constexpr size_t kPages = 64;
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  auto best = std::chrono::nanoseconds::max();
  for (int i = 0; i < 2; ++i) {
    void* const at =
        ::mmap(nullptr, kPages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return {};
    ::madvise(at, kPages * page, MADV_NOHUGEPAGE);
    const bool is_made = ::madvise(at, kPages * page, MADV_POPULATE_WRITE) == 0;
    const auto start = Clock::now();
    for (size_t offset = 0; is_made && offset < kPages * page; offset += page)
      (void)static_cast<const volatile char*>(at)[offset];
    best = std::min<std::chrono::nanoseconds>(best, (Clock::now() - start) / kPages);
    ::munmap(at, kPages * page);
    if (!is_made) return {};
  }
  return best;
}

}  // namespace

// What is in a huge page's room.
enum class LargeMemory::Room : char {
  kNew,    // nothing yet
  kMade,   // all its pages
  kLeft,   // pages that were filled; who fills the others makes them
  kGiven,  // the same, and the mover knows of it
};

struct LargeMemory::Mapping {
  Mapping(void* at, size_t size) : mapped(at), mapped_bytes(size) {
    const auto address = reinterpret_cast<uintptr_t>(at);
    const size_t before = round_up(address, kHugePage) - address;
    begin = static_cast<std::byte*>(at) + before;
    rooms.resize((size - before) / kHugePage);
  }
  ~Mapping() { ::munmap(mapped, mapped_bytes); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  void* mapped;
  size_t mapped_bytes;
  std::byte* begin;
  size_t used = 0;  // bytes that are handed out
  std::vector<Room> rooms;
};

// At least `bytes`, from a huge page's border on.
Result<std::shared_ptr<LargeMemory::Mapping>> LargeMemory::map(size_t bytes) {
  const size_t size = round_up(bytes, kHugePage) + kHugePage;
  void* at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) {
    const int error = errno;
    return make_error(ErrorCode::kResource, "out of memory: {} were asked for, {}: {}", human_bytes(bytes),
                      memory_left_text(bytes), std::generic_category().message(error));
  }
  return std::make_shared<Mapping>(at, size);
}

Result<std::shared_ptr<LargeMemory::Mapping>> LargeMemory::make_mapping(size_t bytes) const {
  TRY_ASSIGN(auto mapping, map(bytes));
  if (nodes_.size() > 1) interleave(mapping->mapped, mapping->mapped_bytes, nodes_);
  return mapping;
}

std::byte* LargeMemory::Piece::begin() const {
  return mapping->begin + offset;
}

std::span<LargeMemory::Room> LargeMemory::Piece::rooms() const {
  const size_t first = offset / kHugePage;
  return std::span(mapping->rooms).subspan(first, round_up(offset + bytes, kHugePage) / kHugePage - first);
}

// Of rooms [first, last), so many at a time. Advice, all of it: what does not succeed happens when the memory
// is first written. What kind of pages it is to be, is said for many at once: the system lets nobody say so
// while pages are made.
void LargeMemory::make_pages(const std::shared_ptr<Mapping>& mapping, size_t first, size_t last,
                             SmallPages small, ThreadTeam& team) {
  using Clock = std::chrono::steady_clock;
  const bool is_movable = !is_interleaved(mapping->begin + first * kHugePage);
  const auto has_all = [&](Room room) {
    return room == Room::kMade || (room != Room::kNew && small == SmallPages::kLeft);
  };
  const size_t most = made_at_once(team) / kHugePage;
  look_at_small_pages();
  for (; first < last; first += most) {
    const auto rooms = std::span(mapping->rooms).subspan(first, std::min(most, last - first));
    std::byte* const begin = mapping->begin + first * kHugePage;
    const auto is_done = [&] { return std::all_of(rooms.begin(), rooms.end(), has_all); };
    const auto advise = [&](bool is_huge) {
      ::madvise(begin, rooms.size() * kHugePage, is_huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    };
    const auto make = [&](bool is_huge) {
      advise(is_huge);
      team.run(static_cast<int64_t>(rooms.size()), [&](int64_t turn, unsigned) {
        Room& room = rooms[static_cast<size_t>(turn)];
        if (has_all(room) || (is_huge && !page_size_.huge_are_wanted())) return;
        std::byte* const at = begin + static_cast<size_t>(turn) * kHugePage;
        if (!is_huge && is_movable && room != Room::kGiven) mover_.add(mapping, at);
        room = Room::kMade;
        const auto start = Clock::now();
        if (::madvise(at, kHugePage, MADV_POPULATE_WRITE) != 0) *reinterpret_cast<volatile char*>(at) = 0;
        page_size_.count(is_huge, Clock::now() - start);
      });
    };
    if (is_done()) continue;
    if (page_size_.huge_are_wanted()) make(true);
    if (is_done()) continue;
    if (small == SmallPages::kLeft && filler_.is_possible()) {
      advise(false);
      std::replace(rooms.begin(), rooms.end(), Room::kNew, is_movable ? Room::kLeft : Room::kGiven);
    } else {
      make(false);
    }
  }
}

void LargeMemory::look_at_small_pages() {
  if (page_size_.knows_first_reading()) return;
  page_size_.count_first_reading(time_first_reading());
}

// A huge page has one node, and the threads that share what is in it may have several.
bool LargeMemory::begins_in_huge_pages(size_t bytes, size_t soon) {
  const bool is_worth_it = bytes <= kSmallEnough || soon >= bytes / kWorthOneSoonIn;
  if (!is_worth_it || nodes_.size() > 1 || is_interleaved()) return false;
  look_at_small_pages();
  return page_size_.small_are_slow_to_read();
}

Result<LargeMemory::Piece> LargeMemory::make_piece(size_t bytes, size_t alignment, SmallPages small,
                                                   ThreadTeam& team) {
  bytes = round_up(std::max<size_t>(bytes, 1), alignment);
  std::shared_ptr<Mapping> mapping = mapping_;
  if (bytes > kMappingBytes / 4) {
    TRY_ASSIGN(mapping, make_mapping(bytes));
  } else if (!mapping || round_up(mapping->used, alignment) + bytes > kMappingBytes) {
    TRY_ASSIGN(mapping, make_mapping(kMappingBytes));
    mapping_ = mapping;
  }
  Piece piece = {mapping, round_up(mapping->used, alignment), bytes};
  mapping->used = piece.offset + bytes;
  const size_t first = piece.offset / kHugePage;
  size_t last = first + piece.rooms().size();
  if (piece.rooms().back() == Room::kNew && bytes < kMadeAtOnce / 2)
    last = std::min(round_up(mapping->used, made_at_once(team)) / kHugePage, mapping->rooms.size());
  make_pages(mapping, first, last, small, team);
  return piece;
}

Result<std::shared_ptr<void>> LargeMemory::alloc(size_t bytes, ThreadTeam& team) {
  TRY_ASSIGN(const Piece piece, make_piece(bytes, kAlignment, SmallPages::kMade, team));
  return std::shared_ptr<void>(piece.mapping, piece.begin());
}

Result<std::shared_ptr<void>> LargeMemory::alloc_unwritten(size_t bytes, size_t soon) {
  TRY_ASSIGN(const auto mapping, map(bytes));
  if (begins_in_huge_pages(bytes, soon)) {
    ::madvise(mapping->begin, round_up(bytes, kHugePage), MADV_HUGEPAGE);
  } else if (nodes_.size() <= 1 && !is_interleaved(mapping->begin)) {
    for (size_t at = 0; at < bytes; at += kHugePage) mover_.add_unwritten(mapping, mapping->begin + at);
  }
  return std::shared_ptr<void>(mapping, mapping->begin);
}

// From a page's border to one: nobody else touches pages that are being filled.
Result<LargeMemory::Filling> LargeMemory::alloc_to_fill(size_t bytes, ThreadTeam& team) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  TRY_ASSIGN(Piece piece, make_piece(bytes, page, SmallPages::kLeft, team));
  const auto rooms = piece.rooms();
  const bool is_made = std::all_of(rooms.begin(), rooms.end(), [](Room room) { return room == Room::kMade; });
  const bool is_by_filler = !is_made && filler_.begin(piece.begin(), piece.bytes);
  return Filling(this, std::move(piece), is_by_filler);
}

void LargeMemory::end(const Filling& filling) {
  const Piece& piece = filling.piece_;
  if (filling.is_by_filler_) filler_.end(piece.begin(), piece.bytes);
  std::byte* at = piece.begin() - piece.offset % kHugePage;
  for (Room& room : piece.rooms()) {
    if (room == Room::kLeft) {
      mover_.add(piece.mapping, at);
      room = Room::kGiven;
    }
    at += kHugePage;
  }
}

LargeMemory::Filling::Filling(LargeMemory* memory, Piece piece, bool is_by_filler)
    : memory_(memory), piece_(std::move(piece)), is_by_filler_(is_by_filler) {}

LargeMemory::Filling::Filling(Filling&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)),
      piece_(std::move(other.piece_)),
      is_by_filler_(other.is_by_filler_) {}

LargeMemory::Filling::~Filling() {
  if (memory_ == nullptr) return;
  memory_->end(*this);
  // Abandoned: whoever asks next has its room, zero as it was, unless somebody has what lies behind it.
  LargeMemory::Mapping& mapping = *piece_.mapping;
  if (mapping.used != piece_.offset + piece_.bytes) return;
  std::memset(piece_.begin(), 0, piece_.bytes);
  mapping.used = piece_.offset;
}

Status LargeMemory::Filling::copy(size_t offset, const void* from, size_t bytes) const {
  using Clock = std::chrono::steady_clock;
  const auto* in = static_cast<const std::byte*>(from);
  // Room by room: some may be there, huge or not.
  while (bytes > 0) {
    const size_t at = piece_.offset + offset;
    const size_t part = std::min(bytes, kHugePage - at % kHugePage);
    std::byte* const to = piece_.mapping->begin + at;
    if (!is_by_filler_ || piece_.mapping->rooms[at / kHugePage] == Room::kMade) {
      non_temporal_copy(to, in, part);
    } else {
      const auto start = Clock::now();
      if (!memory_->filler_.copy(to, in, part)) {
        return make_error(ErrorCode::kResource, "out of memory: {} were to be filled, {}",
                          human_bytes(piece_.bytes), memory_left_text(piece_.bytes));
      }
      if (part >= kTimedCopy) memory_->page_size_.count(false, (Clock::now() - start) * kHugePage / part);
    }
    offset += part;
    in += part;
    bytes -= part;
  }
  return {};
}

std::shared_ptr<void> LargeMemory::Filling::finish() {
  std::exchange(memory_, nullptr)->end(*this);
  return std::shared_ptr<void>(piece_.mapping, piece_.begin());
}

}  // namespace inferno
