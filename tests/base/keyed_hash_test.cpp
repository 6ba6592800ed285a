#include "base/keyed_hash.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace inferno {
namespace {

// An independent SipHash-c-d over bytes, straight from the paper, to hold ours against.
uint64_t paper_sip_hash(uint64_t k0, uint64_t k1, const std::string& message, int c, int d) {
  uint64_t v[4] = {k0 ^ 0x736f6d6570736575u, k1 ^ 0x646f72616e646f6du, k0 ^ 0x6c7967656e657261u,
                   k1 ^ 0x7465646279746573u};
  const auto rotl = [](uint64_t x, int b) { return (x << b) | (x >> (64 - b)); };
  const auto rounds = [&](int n) {
    for (int i = 0; i < n; ++i) {
      v[0] += v[1], v[1] = rotl(v[1], 13), v[1] ^= v[0], v[0] = rotl(v[0], 32);
      v[2] += v[3], v[3] = rotl(v[3], 16), v[3] ^= v[2];
      v[0] += v[3], v[3] = rotl(v[3], 21), v[3] ^= v[0];
      v[2] += v[1], v[1] = rotl(v[1], 17), v[1] ^= v[2], v[2] = rotl(v[2], 32);
    }
  };
  std::string padded = message;
  while (padded.size() % 8 != 7) padded += '\0';
  padded += static_cast<char>(message.size());
  for (size_t i = 0; i < padded.size(); i += 8) {
    uint64_t word = 0;
    for (size_t j = 0; j < 8; ++j) word |= uint64_t{static_cast<unsigned char>(padded[i + j])} << (8 * j);
    v[3] ^= word;
    rounds(c);
    v[0] ^= word;
  }
  v[2] ^= 0xff;
  rounds(d);
  return v[0] ^ v[1] ^ v[2] ^ v[3];
}

std::string counting(size_t n) {
  std::string text;
  for (size_t i = 0; i < n; ++i) text += static_cast<char>(i);
  return text;
}

// The example of the paper's appendix pins the second implementation down.
TEST(KeyedHash, ThePapersExampleOfSipHash24) {
  EXPECT_EQ(paper_sip_hash(0x0706050403020100u, 0x0f0e0d0c0b0a0908u, counting(15), 2, 4),
            0xa129ca6149be45e5u);
}

TEST(KeyedHash, EqualsThePaperAtEveryLength) {
  for (size_t n = 0; n < 40; ++n) {
    EXPECT_EQ(sip_hash({1, 2}, counting(n)), paper_sip_hash(1, 2, counting(n), 1, 3)) << n;
  }
}

TEST(KeyedHash, StaysTheSameWithinTheProcess) {
  EXPECT_EQ(keyed_hash("token"), keyed_hash("token"));
  std::set<uint64_t> hashes;
  const HashKey key = random_hash_key();
  for (uint64_t i = 0; i < 1000; ++i) hashes.insert(sip_hash(key, i));
  EXPECT_EQ(hashes.size(), 1000u);
}

}  // namespace
}  // namespace inferno
