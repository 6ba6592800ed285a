#include "base/non_temporal.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

namespace inferno {
namespace {

std::vector<unsigned char> numbers(size_t n) {
  std::vector<unsigned char> bytes(n);
  for (size_t i = 0; i < n; ++i) bytes[i] = static_cast<unsigned char>(i * 7 + i / 256 + 1);
  return bytes;
}

TEST(NonTemporalCopy, CopiesTheseBytesAndNoOthers) {
  const std::vector<unsigned char> from = numbers(1000);
  alignas(64) unsigned char to[640];
  for (size_t from_offset : {0, 1, 16, 63}) {
    for (size_t to_offset : {0, 1, 8, 16, 60, 63}) {
      for (size_t n : {0, 1, 4, 15, 16, 63, 64, 65, 127, 128, 500}) {
        std::memset(to, 0, sizeof to);
        non_temporal_copy(to + to_offset, from.data() + from_offset, n);
        for (size_t i = 0; i < sizeof to; ++i) {
          const bool is_copied = i >= to_offset && i < to_offset + n;
          ASSERT_EQ(to[i], is_copied ? from[from_offset + i - to_offset] : 0)
              << n << " bytes from " << from_offset << " to " << to_offset << ", at " << i;
        }
      }
    }
  }
}

TEST(NonTemporalCopy, IsSeenByWhoIsTold) {
  const std::vector<unsigned char> from = numbers(100'000);
  std::vector<unsigned char> to(from.size());
  std::atomic<bool> is_done = false;
  std::thread writer([&] {
    non_temporal_copy(to.data(), from.data(), from.size());
    is_done.store(true, std::memory_order_release);
  });
  while (!is_done.load(std::memory_order_acquire)) std::this_thread::yield();
  EXPECT_EQ(to, from);
  writer.join();
}

}  // namespace
}  // namespace inferno
