#include "base/large_memory.h"

#include <gtest/gtest.h>
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <vector>

#include "support/huge_pages.h"

namespace inferno {
namespace {

size_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  size_t all = 0, resident = 0;
  statm >> all >> resident;
  return resident * static_cast<size_t>(::sysconf(_SC_PAGESIZE));
}

TEST(LargeMemory, PiecesAreAlignedZeroAndApart) {
  ThreadTeam team(2);
  LargeMemory memory;
  struct Piece {
    std::shared_ptr<void> data;
    size_t bytes;
  };
  std::vector<Piece> pieces;
  // Within a page, across pages, across mappings, larger than a mapping.
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{63}, size_t{5} << 20, size_t{3} << 20,
                             size_t{40} << 20, size_t{40} << 20, size_t{100} << 20, size_t{4096}}) {
    auto piece = memory.alloc(bytes, team);
    ASSERT_TRUE(piece.ok()) << piece.error().message;
    auto* data = static_cast<unsigned char*>(piece->get());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % 64, 0u);
    EXPECT_TRUE(std::all_of(data, data + bytes, [](unsigned char c) { return c == 0; }));
    std::memset(data, static_cast<int>(pieces.size()) + 1, bytes);
    pieces.push_back({*piece, bytes});
  }
  for (size_t i = 0; i < pieces.size(); ++i) {
    const auto* data = static_cast<const unsigned char*>(pieces[i].data.get());
    EXPECT_TRUE(std::all_of(data, data + pieces[i].bytes, [&](unsigned char c) { return c == i + 1; })) << i;
  }
}

TEST(LargeMemory, APieceOutlivesWhatItCameFrom) {
  ThreadTeam team(1);
  std::shared_ptr<void> piece;
  {
    LargeMemory memory;
    piece = memory.alloc(100, team).value();
  }
  std::memset(piece.get(), 7, 100);
  EXPECT_EQ(static_cast<unsigned char*>(piece.get())[99], 7);
}

TEST(LargeMemory, WhatIsNotWrittenIsNotMade) {
  LargeMemory memory;
  constexpr size_t kBytes = size_t{256} << 20;
  const size_t before = resident_bytes();
  auto piece = memory.alloc_unwritten(kBytes);
  ASSERT_TRUE(piece.ok()) << piece.error().message;
  auto* const data = static_cast<unsigned char*>(piece->get());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % 4096, 0u);
  data[0] = data[kBytes - 1] = 1;
  memory.written();
  EXPECT_TRUE(memory.settle(std::chrono::minutes(1)));
  EXPECT_LT(resident_bytes(), before + kBytes / 4);
  std::memset(data, 2, kBytes / 2);
  memory.settle(std::chrono::minutes(1));
  EXPECT_EQ(data[kBytes / 2 - 1], 2);
  EXPECT_EQ(data[kBytes / 2], 0);
  EXPECT_EQ(data[kBytes - 1], 1);
}

// On machines with one node, too.
TEST(LargeMemory, IsSpreadOverNodes) {
  const auto policy_at = [](void* at) {
    int mode = -1;
    const long failed = ::syscall(SYS_get_mempolicy, &mode, nullptr, 0, at, MPOL_F_ADDR);
    return failed ? -1 : mode;
  };
  int local = 0;
  if (policy_at(&local) != MPOL_DEFAULT)
    GTEST_SKIP() << "the system does not tell where memory lies, or numactl said";
  ThreadTeam team(2);
  for (const size_t bytes : {size_t{100}, size_t{40} << 20}) {
    EXPECT_EQ(policy_at(LargeMemory({0, 0}).alloc(bytes, team).value().get()), MPOL_INTERLEAVE);
    EXPECT_EQ(policy_at(LargeMemory({0}).alloc(bytes, team).value().get()), MPOL_DEFAULT);
  }
}

TEST(LargeMemory, WhatTheSystemRefusesIsAnErrorAndTheRestGoesOn) {
  ThreadTeam team(1);
  LargeMemory memory;
  const auto refused = memory.alloc(size_t{1} << 60, team);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kResource);
  EXPECT_NE(refused.error().message.find("out of memory: 1.2 EB were asked for, "), std::string::npos)
      << refused.error().message;
  EXPECT_NE(refused.error().message.find(" are available: "), std::string::npos) << refused.error().message;
  EXPECT_TRUE(memory.alloc(100, team).ok());
}

// Copied by all threads in parts that begin and end within pages.
void fill(const LargeMemory::Filling& filling, size_t bytes, unsigned char seed, ThreadTeam& team) {
  constexpr size_t kPart = 10'007;
  team.run(static_cast<int64_t>((bytes + kPart - 1) / kPart), [&](int64_t turn, unsigned) {
    const size_t begin = static_cast<size_t>(turn) * kPart;
    std::vector<unsigned char> part(std::min(kPart, bytes - begin));
    for (size_t i = 0; i < part.size(); ++i) part[i] = static_cast<unsigned char>((begin + i) * 7 + seed);
    EXPECT_TRUE(filling.copy(begin, part.data(), part.size()));
  });
}

bool is_filled(const void* data, size_t bytes, unsigned char seed) {
  const auto* at = static_cast<const unsigned char*>(data);
  for (size_t i = 0; i < bytes; ++i) {
    if (at[i] != static_cast<unsigned char>(i * 7 + seed)) return false;
  }
  return true;
}

// Small pages are taken from now on, whatever this machine's are like.
void make_huge_pages_slow(LargeMemory& memory) {
  memory.page_size().count_first_reading(std::chrono::nanoseconds(100));
  for (int i = 0; i < 2; ++i) memory.page_size().count(true, std::chrono::milliseconds(10));
}

TEST(LargeMemory, HoldsWhatItIsFilledWithInPagesOfAnySize) {
  ThreadTeam team(3);
  for (const bool huge_are_slow : {false, true}) {
    LargeMemory memory;
    struct Piece {
      std::shared_ptr<void> data;
      size_t bytes;
    };
    std::vector<Piece> pieces;
    // Small ones that share a mapping, with others between that are not filled; its end; one larger than a
    // mapping; the first before huge pages become slow.
    for (const size_t bytes :
         {size_t{3} << 20, size_t{1}, size_t{5'000'003}, size_t{15} << 20, size_t{14} << 20, size_t{16} << 20,
          size_t{13} << 20, size_t{70'000'001}, size_t{4096}}) {
      auto filling = memory.alloc_to_fill(bytes, team);
      ASSERT_TRUE(filling.ok()) << filling.error().message;
      fill(*filling, bytes, static_cast<unsigned char>(pieces.size()), team);
      pieces.push_back({filling->finish(), bytes});
      EXPECT_EQ(reinterpret_cast<uintptr_t>(pieces.back().data.get()) % 64, 0u);
      const auto other = memory.alloc(100'000, team);
      ASSERT_TRUE(other.ok());
      auto* zeros = static_cast<unsigned char*>(other->get());
      EXPECT_TRUE(std::all_of(zeros, zeros + 100'000, [](unsigned char c) { return c == 0; }));
      std::memset(zeros, 0xee, 100'000);
      if (huge_are_slow) make_huge_pages_slow(memory);
    }
    for (size_t i = 0; i < pieces.size(); ++i)
      EXPECT_TRUE(is_filled(pieces[i].data.get(), pieces[i].bytes, static_cast<unsigned char>(i))) << i;
    memory.settle(std::chrono::seconds(10));
    for (size_t i = 0; i < pieces.size(); ++i)
      EXPECT_TRUE(is_filled(pieces[i].data.get(), pieces[i].bytes, static_cast<unsigned char>(i))) << i;
  }
}

// Also the last pages of a mapping, and after rooms in which nothing lies.
TEST(LargeMemory, AllThatIsFilledIsMovedIntoHugePages) {
  constexpr size_t kPiece = size_t{15} << 20, kPieces = 5;
  const auto moved = [](bool some_are_empty) {
    ThreadTeam team(2);
    LargeMemory memory;
    make_huge_pages_slow(memory);
    if (some_are_empty) {
      EXPECT_TRUE(memory.alloc_to_fill(kPiece, team));
    }
    std::vector<std::shared_ptr<void>> pieces;
    size_t huge = 0;
    for (size_t i = 0; i < kPieces; ++i) {
      auto filling = memory.alloc_to_fill(kPiece, team);
      EXPECT_TRUE(filling.ok());
      fill(*filling, kPiece, static_cast<unsigned char>(i), team);
      pieces.push_back(filling->finish());
    }
    const auto other = memory.alloc(1000, team);
    EXPECT_TRUE(other.ok());
    while (!memory.settle(std::chrono::seconds(1))) {
    }
    // Four of 15 MiB lie in a mapping of 64.
    for (const size_t first_of_mapping : {size_t{0}, some_are_empty ? size_t{3} : size_t{4}})
      huge += test::huge_bytes(pieces[first_of_mapping].get(), kPiece);
    return huge;
  };
  const size_t bytes = moved(false);
  if (bytes == 0) GTEST_SKIP() << "this system moves no pages (Linux 6.1 and free huge pages of 2 MiB)";
  EXPECT_GE(bytes, kPieces * kPiece);
  EXPECT_GE(moved(true), kPieces * kPiece);
}

// Bytes in huge pages of memory of so many, asked for or not, whose first byte, or all, was written.
size_t huge_bytes_of_plain_memory(size_t bytes, bool is_asked_for, bool is_all_written) {
  constexpr size_t kHuge = size_t{2} << 20;
  void* const room =
      ::mmap(nullptr, bytes + kHuge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) return 0;
  auto* const at = static_cast<char*>(room) + (kHuge - reinterpret_cast<uintptr_t>(room) % kHuge) % kHuge;
  if (is_asked_for) ::madvise(at, bytes, MADV_HUGEPAGE);
  std::memset(at, 1, is_all_written ? bytes : 1);
  const size_t huge = test::huge_bytes(at, bytes);
  ::munmap(room, bytes + kHuge);
  return huge;
}

// However slow huge ones are; also what is written bit by bit, if it is not much or much of it comes soon.
TEST(LargeMemory, BeginsInHugePagesWhereSmallOnesAreSlowToRead) {
  constexpr size_t kHuge = size_t{2} << 20, kLittle = size_t{6} << 20, kMuch = size_t{300} << 20;
  constexpr size_t kFilled = size_t{16} << 20;
  if (huge_bytes_of_plain_memory(kFilled, true, true) < kFilled)
    GTEST_SKIP() << "this system has no huge pages of 2 MiB to give, or not so many";
  if (huge_bytes_of_plain_memory(kLittle, false, false) != 0)
    GTEST_SKIP() << "this system gives huge pages to whoever has not asked for them";
  ThreadTeam team(2);
  for (const bool is_slow : {false, true}) {
    LargeMemory memory;
    make_huge_pages_slow(memory);
    if (is_slow) memory.page_size().count_first_reading(std::chrono::nanoseconds(3500));
    auto filling = memory.alloc_to_fill(kFilled, team);
    ASSERT_TRUE(filling.ok());
    fill(*filling, kFilled, 1, team);
    const auto filled = filling->finish();
    if (is_slow || PageFiller().is_possible()) {
      EXPECT_EQ(test::huge_bytes(filled.get(), kFilled), is_slow ? kFilled : 0);
    }
    const auto huge_of_one_byte = [&](size_t bytes, size_t soon) {
      const auto piece = memory.alloc_unwritten(bytes, soon);
      EXPECT_TRUE(piece.ok());
      *static_cast<volatile char*>(piece->get()) = 1;
      return test::huge_bytes(piece->get(), bytes);
    };
    EXPECT_EQ(huge_of_one_byte(kLittle, 0), is_slow ? kHuge : 0);
    EXPECT_EQ(huge_of_one_byte(kMuch, kMuch / 2 - 1), 0u);
    EXPECT_EQ(huge_of_one_byte(kMuch, kMuch / 2), is_slow ? kHuge : 0);
  }
}

TEST(LargeMemory, IsWholeAfterAFillingThatWasGivenUp) {
  ThreadTeam team(2);
  LargeMemory memory;
  make_huge_pages_slow(memory);
  constexpr size_t kBytes = size_t{3} << 20;
  {
    const auto filling = memory.alloc_to_fill(kBytes, team);
    ASSERT_TRUE(filling.ok());
    fill(*filling, kBytes / 2, 1, team);
  }
  auto filling = memory.alloc_to_fill(kBytes, team);
  ASSERT_TRUE(filling.ok());
  fill(*filling, kBytes / 2, 2, team);
  const auto data = filling->finish();
  EXPECT_TRUE(is_filled(data.get(), kBytes / 2, 2));
  auto* rest = static_cast<unsigned char*>(data.get()) + kBytes / 2;
  EXPECT_TRUE(std::all_of(rest, rest + kBytes / 2, [](unsigned char c) { return c == 0; }));
  std::memset(rest, 1, kBytes / 2);
}

}  // namespace
}  // namespace inferno
