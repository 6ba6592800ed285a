#include "base/page_mover.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "support/huge_pages.h"

namespace inferno {
namespace {

using std::chrono::milliseconds;

constexpr size_t kPages = 4;

// Memory in small pages that begins at a huge page's border.
class SmallPages {
 public:
  SmallPages() {
    constexpr size_t kBytes = (kPages + 1) * PageMover::kHugePage;
    void* at = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(at, MAP_FAILED);
    owner_ = std::shared_ptr<void>(at, [](void* p) { ::munmap(p, kBytes); });
    const auto address = reinterpret_cast<uintptr_t>(at);
    const size_t gap = (PageMover::kHugePage - address % PageMover::kHugePage) % PageMover::kHugePage;
    begin_ = static_cast<unsigned char*>(at) + gap;
    ::madvise(begin_, kPages * PageMover::kHugePage, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < kPages * PageMover::kHugePage; ++i) begin_[i] = expected(i);
  }

  const std::shared_ptr<void>& owner() const { return owner_; }
  void* page(size_t i) const { return begin_ + i * PageMover::kHugePage; }
  void expect_unchanged() const {
    for (size_t i = 0; i < kPages * PageMover::kHugePage; ++i) ASSERT_EQ(begin_[i], expected(i)) << i;
  }
  size_t huge_bytes() const { return test::huge_bytes(begin_, kPages * PageMover::kHugePage); }

 private:
  static unsigned char expected(size_t i) { return static_cast<unsigned char>(i * 7 + i / 4096); }

  std::shared_ptr<void> owner_;
  unsigned char* begin_ = nullptr;
};

void wait_until_done(const PageMover& mover) {
  for (int i = 0; i < 12000 && mover.n_left() != 0; ++i) std::this_thread::sleep_for(milliseconds(5));
  ASSERT_EQ(mover.n_left(), 0u);
}

TEST(PageMover, MovesPagesAndChangesNothing) {
  SmallPages own, memory;
  const bool is_possible = test::can_make_huge(own.page(0)) && own.huge_bytes() != 0;
  ASSERT_EQ(memory.huge_bytes(), 0u);
  PageMover mover({milliseconds(0), 0});
  for (size_t i = 0; i < kPages; ++i) mover.add(memory.owner(), memory.page(i));
  while (mover.n_left() > 1) memory.expect_unchanged();
  wait_until_done(mover);
  memory.expect_unchanged();
  if (!is_possible) GTEST_SKIP() << "this system moves no pages (Linux 6.1 and free huge pages of 2 MiB)";
  EXPECT_GT(mover.n_moved(), 0u);
  EXPECT_EQ(memory.huge_bytes(), mover.n_moved() * PageMover::kHugePage);
}

// Memory that nobody wrote cannot be moved, and says nothing about other memory.
TEST(PageMover, GoesOnAfterMemoryThatIsEmpty) {
  SmallPages empty, memory;
  ::madvise(empty.page(0), kPages * PageMover::kHugePage, MADV_DONTNEED);
  PageMover full_alone({milliseconds(0), 0}), mover({milliseconds(0), 0});
  SmallPages other;
  for (size_t i = 0; i < kPages; ++i) full_alone.add(other.owner(), other.page(i));
  wait_until_done(full_alone);
  for (size_t i = 0; i < kPages; ++i) mover.add(empty.owner(), empty.page(i));
  for (size_t i = 0; i < kPages; ++i) mover.add(memory.owner(), memory.page(i));
  wait_until_done(mover);
  memory.expect_unchanged();
  if (full_alone.n_moved() < kPages)
    GTEST_SKIP() << "this system moves not all pages (Linux 6.1, free huge ones)";
  EXPECT_EQ(memory.huge_bytes(), kPages * PageMover::kHugePage);
}

TEST(PageMover, HurriesWhenAsked) {
  SmallPages memory;
  PageMover mover({std::chrono::hours(1), 1000000});
  mover.hurry(milliseconds(0));  // nothing there
  for (size_t i = 0; i < kPages; ++i) mover.add(memory.owner(), memory.page(i));
  EXPECT_TRUE(mover.hurry(std::chrono::minutes(1)));
  EXPECT_EQ(mover.n_left(), 0u);
  memory.expect_unchanged();
  EXPECT_EQ(memory.huge_bytes(), mover.n_moved() * PageMover::kHugePage);
}

TEST(PageMover, LeavesWhatNobodyOwnsAnyMore) {
  SmallPages memory;
  PageMover mover({milliseconds(0), 0});
  const std::weak_ptr<const void> dead = std::make_shared<int>(0);
  for (size_t i = 0; i < kPages; ++i) mover.add(dead, memory.page(i));
  wait_until_done(mover);
  EXPECT_EQ(mover.n_moved(), 0u);
  EXPECT_EQ(memory.huge_bytes(), 0u);
}

TEST(PageMover, WaitsItsPatienceAndEndsAtOnce) {
  SmallPages memory;
  const auto start = std::chrono::steady_clock::now();
  {
    PageMover mover({std::chrono::hours(1), 9});
    mover.add(memory.owner(), memory.page(0));
    EXPECT_EQ(mover.n_moved(), 0u);
    EXPECT_EQ(mover.n_left(), 1u);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::minutes(10));
  EXPECT_EQ(memory.huge_bytes(), 0u);
}

TEST(PageMover, MovesWhatIsWrittenInPartWhenItLooks) {
  SmallPages probe, memory;
  if (!test::can_make_huge(probe.page(0)) || !test::can_make_huge(probe.page(1)))
    GTEST_SKIP() << "this system moves no pages (Linux 6.1 and free huge pages of 2 MiB)";
  constexpr size_t kEnough = PageMover::kHugePage / PageMover::kWorthOneIn;
  auto* const not_quite = static_cast<unsigned char*>(memory.page(1));
  ::madvise(memory.page(0), PageMover::kHugePage - kEnough, MADV_DONTNEED);
  ::madvise(not_quite, PageMover::kHugePage - kEnough + 65536, MADV_DONTNEED);
  PageMover mover({milliseconds(0), 0});
  mover.add_unwritten(memory.owner(), memory.page(0));
  mover.add_unwritten(memory.owner(), memory.page(1));
  mover.add_unwritten(std::make_shared<int>(0), memory.page(2));  // nobody owns it any more
  EXPECT_TRUE(mover.hurry(std::chrono::minutes(1)));
  EXPECT_EQ(mover.n_moved(), 1u);
  EXPECT_EQ(memory.huge_bytes(), PageMover::kHugePage);

  for (size_t i = 0; i < 65536; i += 4096) not_quite[i] = 1;
  for (int i = 0; i < 12000 && mover.n_moved() == 1; ++i) {
    mover.look();
    std::this_thread::sleep_for(milliseconds(5));
  }
  EXPECT_EQ(mover.n_moved(), 2u);
  EXPECT_EQ(not_quite[0], 1);
  EXPECT_EQ(not_quite[1], 0);
}

}  // namespace
}  // namespace inferno
