#include <cstring>

#include "kernels/reference/reference.h"

namespace inferno::kernels::reference {
namespace {

constexpr int64_t kWord = sizeof(uint64_t);
constexpr int64_t kStreams = 16;  // independent sums, so that no addition waits for the one before

}  // namespace

uint64_t read_all(const void* data, int64_t bytes) {
  const uint8_t* at = static_cast<const uint8_t*>(data);
  uint64_t sums[kStreams] = {};
  for (; bytes >= kStreams * kWord; at += kStreams * kWord, bytes -= kStreams * kWord) {
    uint64_t words[kStreams];
    std::memcpy(words, at, sizeof words);
    for (int64_t i = 0; i < kStreams; ++i) sums[i] += words[i];
  }
  for (; bytes > 0; at += kWord, bytes -= kWord) {
    uint64_t word = 0;
    std::memcpy(&word, at, static_cast<size_t>(bytes < kWord ? bytes : kWord));
    sums[0] += word;
  }
  uint64_t total = 0;
  for (const uint64_t sum : sums) total += sum;
  return total;
}

}  // namespace inferno::kernels::reference
