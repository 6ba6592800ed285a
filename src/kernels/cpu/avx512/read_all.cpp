#include <immintrin.h>

#include "kernels/cpu/avx512/functions.h"
#include "kernels/reference/reference.h"

namespace inferno::kernels::avx512 {
namespace {

constexpr int64_t kStreams = 4;  // places that are read in turn: each has a hardware prefetcher
constexpr int64_t kStep = 128;   // bytes of each in a turn

}  // namespace

uint64_t read_all(const void* data, int64_t bytes) {
  const auto* at = static_cast<const uint8_t*>(data);
  const int64_t stream = bytes / (kStreams * kStep) * kStep;
  __m512i sums[kStreams][2];
  for (auto& pair : sums) pair[0] = pair[1] = _mm512_setzero_si512();
  for (int64_t i = 0; i < stream; i += kStep) {
    for (int64_t s = 0; s < kStreams; ++s) {
      const uint8_t* from = at + s * stream + i;
      sums[s][0] = _mm512_add_epi64(sums[s][0], _mm512_loadu_si512(from));
      sums[s][1] = _mm512_add_epi64(sums[s][1], _mm512_loadu_si512(from + 64));
    }
  }
  __m512i sum = _mm512_setzero_si512();
  for (const auto& pair : sums) sum = _mm512_add_epi64(sum, _mm512_add_epi64(pair[0], pair[1]));
  // Not _mm512_reduce_add_epi64: it adds signed numbers, which may not overflow.
  uint64_t words[8];
  _mm512_storeu_si512(words, sum);
  const uint64_t rest = reference::read_all(at + kStreams * stream, bytes - kStreams * stream);
  uint64_t total = rest;
  for (const uint64_t word : words) total += word;
  return total;
}

}  // namespace inferno::kernels::avx512
