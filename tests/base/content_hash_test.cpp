#include "base/content_hash.h"

#include <gtest/gtest.h>

#include <string_view>

namespace inferno {
namespace {

uint64_t hash(std::string_view text) {
  return content_hash(std::as_bytes(std::span(text)));
}

// Hashes lie in files: another function, seed or length of the result would make all of them stale. The first
// is XXH3's published value for no input.
TEST(ContentHash, IsTheSameInEveryVersion) {
  EXPECT_EQ(hash(""), 0x2d06800538d394c2u);
  EXPECT_EQ(hash("inferno"), 14933963947782768928u);
}

TEST(ContentHash, TellsBytesApart) {
  EXPECT_NE(hash("a"), hash("b"));
  EXPECT_NE(hash("a"), hash(std::string_view("a\0", 2)));
}

}  // namespace
}  // namespace inferno
