#include "base/large_memory.h"

#include <gtest/gtest.h>
#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace inferno {
namespace {

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
  EXPECT_NE(refused.error().message.find("out of memory"), std::string::npos);
  EXPECT_TRUE(memory.alloc(100, team).ok());
}

}  // namespace
}  // namespace inferno
