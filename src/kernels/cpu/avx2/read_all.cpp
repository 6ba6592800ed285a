#include <immintrin.h>

#include "kernels/cpu/avx2/functions.h"
#include "kernels/reference/reference.h"

namespace inferno::kernels::avx2 {
namespace {

constexpr int64_t kVectors = 8;  // sums, of as many lines in a turn

__m256i load(const uint8_t* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}

// Adds up kStreams pieces side by side, each of so many bytes (whole turns).
template <int64_t kStreams, bool kHints>
void add_streams(const uint8_t* at, int64_t bytes, int64_t ahead, __m256i (&sums)[kVectors]) {
  constexpr int64_t kLines = kVectors / kStreams;
  for (int64_t turn = 0; turn < bytes; turn += kLines * 64) {
    for (int64_t i = 0; i < kVectors; ++i) {
      const uint8_t* line = at + i / kLines * bytes + turn + i % kLines * 64;
      if constexpr (kHints) _mm_prefetch(reinterpret_cast<const char*>(line) + ahead, _MM_HINT_T1);
      sums[i] = _mm256_add_epi64(sums[i], _mm256_add_epi64(load(line), load(line + 32)));
    }
  }
}

}  // namespace

uint64_t read_all(const void* data, int64_t bytes, int64_t ahead) {
  constexpr int64_t kStep = kVectors * 64;
  const auto* at = static_cast<const uint8_t*>(data);
  const int64_t whole = bytes / kStep * kStep;
  __m256i sums[kVectors];
  for (__m256i& sum : sums) sum = _mm256_setzero_si256();
  if (ahead == 0) {
    add_streams<2, false>(at, whole / 2, 0, sums);
  } else {
    add_streams<1, true>(at, whole, ahead, sums);
  }
  at += whole;
  bytes -= whole;
  uint64_t total = reference::read_all(at, bytes);
  for (const __m256i& sum : sums) {
    uint64_t words[4];
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(words), sum);
    for (const uint64_t word : words) total += word;
  }
  return total;
}

}  // namespace inferno::kernels::avx2
