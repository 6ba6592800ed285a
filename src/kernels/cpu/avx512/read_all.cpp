#include <immintrin.h>

#include "kernels/cpu/avx512/functions.h"
#include "kernels/reference/reference.h"

namespace inferno::kernels::avx512 {
namespace {

constexpr int64_t kVectors = 8;  // in a turn, each with its sum

// Adds up kStreams pieces side by side, each of so many bytes (whole turns).
template <int64_t kStreams, bool kHints>
void add_streams(const uint8_t* at, int64_t bytes, int64_t ahead, __m512i (&sums)[kVectors]) {
  constexpr int64_t kLines = kVectors / kStreams;
  for (int64_t turn = 0; turn < bytes; turn += kLines * 64) {
    for (int64_t i = 0; i < kVectors; ++i) {
      const uint8_t* line = at + i / kLines * bytes + turn + i % kLines * 64;
      if constexpr (kHints) _mm_prefetch(line + ahead, _MM_HINT_T1);
      sums[i] = _mm512_add_epi64(sums[i], _mm512_loadu_si512(line));
    }
  }
}

}  // namespace

uint64_t read_all(const void* data, int64_t bytes, int64_t ahead) {
  constexpr int64_t kStep = kVectors * 64;
  const auto* at = static_cast<const uint8_t*>(data);
  const int64_t whole = bytes / kStep * kStep;
  __m512i sums[kVectors];
  for (__m512i& sum : sums) sum = _mm512_setzero_si512();
  if (ahead == 0) {
    add_streams<2, false>(at, whole / 2, 0, sums);
  } else {
    add_streams<1, true>(at, whole, ahead, sums);
  }
  at += whole;
  bytes -= whole;
  // Not _mm512_reduce_add_epi64: it adds signed numbers, which may not overflow.
  uint64_t words[kVectors][8];
  uint64_t total = reference::read_all(at, bytes);
  for (int64_t i = 0; i < kVectors; ++i) {
    _mm512_storeu_si512(words[i], sums[i]);
    for (const uint64_t word : words[i]) total += word;
  }
  return total;
}

}  // namespace inferno::kernels::avx512
