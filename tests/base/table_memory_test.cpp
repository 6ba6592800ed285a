#include "base/table_memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/page_mover.h"

namespace inferno {
namespace {

constexpr size_t kHugePage = PageMover::kHugePage;

bool begins_huge_page(const void* at) {
  return reinterpret_cast<uintptr_t>(at) % kHugePage == 0;
}

TEST(TableMemory, TablesLieOneAfterTheOtherFromAHugePagesBorderOn) {
  TableMemory memory(kHugePage + 5);
  auto* const first = static_cast<std::byte*>(memory.allocate(3, 1));
  EXPECT_TRUE(begins_huge_page(first));
  auto* const second = static_cast<std::byte*>(memory.allocate(100, 64));
  EXPECT_EQ(second, first + 64);
  auto* const third = static_cast<std::byte*>(memory.allocate(kHugePage, 8));
  EXPECT_EQ(third, first + 168);
  std::memset(third, 0xA5, kHugePage);
  memory.deallocate(second, 100, 64);
  EXPECT_EQ(memory.allocate(1, 1), third + kHugePage) << "what was given back stays taken";
}

TEST(TableMemory, WhatDoesNotFitComesFromNew) {
  TableMemory memory(kHugePage);
  void* const large = memory.allocate(2 * kHugePage, 16);
  std::memset(large, 1, 2 * kHugePage);
  void* const fits = memory.allocate(kHugePage, 16);
  EXPECT_TRUE(begins_huge_page(fits)) << "the room was not touched by what did not fit";
  void* const behind = memory.allocate(1, 1);
  *static_cast<char*>(behind) = 1;
  memory.deallocate(behind, 1, 1);
  memory.deallocate(memory.allocate(0, 1), 0, 1);
  memory.deallocate(large, 2 * kHugePage, 16);  // ASan would miss it
}

TEST(TableMemory, SmallTablesTakeNoHugePage) {
  TableMemory memory(1000);
  void* const first = memory.allocate(1000, 16);
  EXPECT_FALSE(begins_huge_page(first));
  memory.deallocate(first, 1000, 16);
  for (const size_t bytes : {kHugePage / 2 - 1, kHugePage / 2}) {
    TableMemory half(bytes);
    void* const at = half.allocate(bytes, 16);
    EXPECT_EQ(begins_huge_page(at), bytes == kHugePage / 2);
    half.deallocate(at, bytes, 16);
  }
  TableMemory everything(SIZE_MAX);
  memory.deallocate(memory.allocate(8, 8), 8, 8);
}

TEST(TableMemory, ContainersKeepTheirPlaceWhenTheyAreMoved) {
  TableMemory memory(4 * kHugePage);
  std::pmr::vector<int32_t> numbers(size_t{1} << 19, 7, &memory);
  std::pmr::string text(1000, 'x', &memory);
  const int32_t* const place = numbers.data();
  EXPECT_TRUE(begins_huge_page(place));
  const std::pmr::vector<int32_t> moved = std::move(numbers);
  EXPECT_EQ(moved.data(), place);
  EXPECT_EQ(moved.back(), 7);
  EXPECT_EQ(text, std::string_view(std::string(1000, 'x')));
}

}  // namespace
}  // namespace inferno
