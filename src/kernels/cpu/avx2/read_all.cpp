#include <immintrin.h>

#include "kernels/cpu/avx2/functions.h"
#include "kernels/reference/reference.h"

namespace inferno::kernels::avx2 {
namespace {

constexpr int64_t kStreams = 4;  // places that are read in turn: each has a hardware prefetcher
constexpr int64_t kStep = 128;   // bytes of each in a turn

}  // namespace

uint64_t read_all(const void* data, int64_t bytes) {
  const auto* at = static_cast<const uint8_t*>(data);
  const int64_t stream = bytes / (kStreams * kStep) * kStep;
  __m256i sums[kStreams][2];
  for (auto& pair : sums) pair[0] = pair[1] = _mm256_setzero_si256();
  const auto load = [](const uint8_t* from) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  };
  for (int64_t i = 0; i < stream; i += kStep) {
    for (int64_t s = 0; s < kStreams; ++s) {
      const uint8_t* from = at + s * stream + i;
      sums[s][0] = _mm256_add_epi64(sums[s][0], _mm256_add_epi64(load(from), load(from + 32)));
      sums[s][1] = _mm256_add_epi64(sums[s][1], _mm256_add_epi64(load(from + 64), load(from + 96)));
    }
  }
  __m256i sum = _mm256_setzero_si256();
  for (const auto& pair : sums) sum = _mm256_add_epi64(sum, _mm256_add_epi64(pair[0], pair[1]));
  uint64_t words[4];
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(words), sum);
  const uint64_t rest = reference::read_all(at + kStreams * stream, bytes - kStreams * stream);
  return words[0] + words[1] + words[2] + words[3] + rest;
}

}  // namespace inferno::kernels::avx2
