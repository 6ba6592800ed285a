#include <immintrin.h>

#include "kernels/cpu/avx512/functions.h"
#include "kernels/reference/reference.h"

namespace inferno::kernels::avx512 {
namespace {

constexpr int64_t kVectors = 8;  // in a turn, each with its sum
constexpr int64_t kStep = kVectors * 64;

}  // namespace

uint64_t read_all(const void* data, int64_t bytes, int64_t ahead) {
  const auto* at = static_cast<const uint8_t*>(data);
  __m512i sums[kVectors];
  for (__m512i& sum : sums) sum = _mm512_setzero_si512();
  for (; bytes >= kStep; at += kStep, bytes -= kStep) {
    for (int64_t i = 0; i < kVectors; ++i) {
      _mm_prefetch(at + i * 64 + ahead, _MM_HINT_T1);
      sums[i] = _mm512_add_epi64(sums[i], _mm512_loadu_si512(at + i * 64));
    }
  }
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
