#include "base/page_filler.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

namespace inferno {
namespace {

class PageFillerTest : public testing::Test {
 protected:
  static constexpr size_t kBytes = size_t{9} << 20;

  void SetUp() override {
    if (!filler_.is_possible()) GTEST_SKIP() << "no userfaultfd here";
    at_ = static_cast<unsigned char*>(
        ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(at_, MAP_FAILED);
    for (size_t i = 0; i < from_.size(); ++i) from_[i] = static_cast<unsigned char>(i * 31 + i / 4096 + 1);
  }
  void TearDown() override {
    if (at_ != nullptr) ::munmap(at_, kBytes);
  }

  PageFiller filler_;
  unsigned char* at_ = nullptr;
  std::vector<unsigned char> from_ = std::vector<unsigned char>(kBytes);
};

TEST_F(PageFillerTest, CopiesTheseBytesAndTheRestIsZero) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  struct Part {
    size_t begin, bytes;
  };
  // Within a page, over a border, whole pages, both ends within pages, over the border of huge pages.
  for (const Part part : {Part{0, 0}, Part{5, 1}, Part{page - 1, 2}, Part{page, 3 * page},
                          Part{7, 4 * page + 1}, Part{3, kBytes - 9}, Part{0, kBytes}}) {
    ASSERT_EQ(::madvise(at_, kBytes, MADV_DONTNEED), 0);
    ASSERT_TRUE(filler_.begin(at_, kBytes));
    EXPECT_TRUE(filler_.copy(at_ + part.begin, from_.data() + part.begin, part.bytes));
    filler_.end(at_, kBytes);
    const unsigned char* end = at_ + part.begin + part.bytes;
    EXPECT_EQ(std::memcmp(at_ + part.begin, from_.data() + part.begin, part.bytes), 0) << part.begin;
    EXPECT_TRUE(std::all_of(at_, at_ + part.begin, [](unsigned char c) { return c == 0; })) << part.begin;
    EXPECT_TRUE(std::all_of(end, static_cast<const unsigned char*>(at_ + kBytes), [](unsigned char c) {
      return c == 0;
    })) << part.begin;
  }
}

TEST_F(PageFillerTest, PagesThatAreThereAreWritten) {
  for (size_t i = 0; i < kBytes; i += 50'000) at_[i] = 0xff;
  ASSERT_TRUE(filler_.begin(at_, kBytes));
  EXPECT_TRUE(filler_.copy(at_, from_.data(), kBytes));
  EXPECT_TRUE(filler_.copy(at_ + 10, from_.data(), kBytes / 2));
  filler_.end(at_, kBytes);
  EXPECT_EQ(std::memcmp(at_ + 10, from_.data(), kBytes / 2), 0);
  EXPECT_EQ(std::memcmp(at_ + 10 + kBytes / 2, from_.data() + 10 + kBytes / 2, kBytes - 10 - kBytes / 2), 0);
}

// Areas of the system's, which one call does not copy across.
TEST_F(PageFillerTest, MemoryMayHaveAdviceInParts) {
  constexpr size_t kHugePage = size_t{2} << 20;
  auto* border = at_ + (kHugePage - reinterpret_cast<uintptr_t>(at_) % kHugePage);
  ::madvise(border, kHugePage, MADV_NOHUGEPAGE);
  ::madvise(border + kHugePage, kHugePage, MADV_HUGEPAGE);
  ASSERT_TRUE(filler_.begin(at_, kBytes));
  EXPECT_TRUE(filler_.copy(at_, from_.data(), kBytes));
  filler_.end(at_, kBytes);
  EXPECT_EQ(std::memcmp(at_, from_.data(), kBytes), 0);
}

TEST_F(PageFillerTest, ThreadsCopySideBySide) {
  ASSERT_TRUE(filler_.begin(at_, kBytes));
  std::vector<std::thread> threads;
  for (size_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      constexpr size_t kPart = 1'001;  // four or five in a page
      for (size_t begin = thread * kPart; begin < kBytes; begin += 4 * kPart)
        EXPECT_TRUE(filler_.copy(at_ + begin, from_.data() + begin, std::min(kPart, kBytes - begin)));
    });
  }
  for (std::thread& thread : threads) thread.join();
  filler_.end(at_, kBytes);
  EXPECT_EQ(std::memcmp(at_, from_.data(), kBytes), 0);
}

TEST_F(PageFillerTest, MemoryIsAsAnyOtherAfterwards) {
  ASSERT_TRUE(filler_.begin(at_, kBytes));
  filler_.end(at_, kBytes);
  std::memset(at_, 1, kBytes);
  EXPECT_EQ(at_[kBytes - 1], 1);
  EXPECT_FALSE(filler_.copy(at_, from_.data(), kBytes)) << "it is no longer the filler's";
}

TEST_F(PageFillerTest, RefusesWhatItCannotHave) {
  EXPECT_FALSE(filler_.begin(at_ + 1, kBytes)) << "not from a page's border";
}

}  // namespace
}  // namespace inferno
