#include <immintrin.h>

#include "kernels/cpu/avx2/functions.h"
#include "kernels/reference/reference.h"

namespace inferno::kernels::avx2 {
namespace {

constexpr int64_t kLines = 8;  // in a turn, each with its sum
constexpr int64_t kStep = kLines * 64;

}  // namespace

uint64_t read_all(const void* data, int64_t bytes, int64_t ahead) {
  const auto* at = static_cast<const uint8_t*>(data);
  const auto load = [](const uint8_t* from) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  };
  __m256i sums[kLines];
  for (__m256i& sum : sums) sum = _mm256_setzero_si256();
  for (; bytes >= kStep; at += kStep, bytes -= kStep) {
    for (int64_t i = 0; i < kLines; ++i) {
      const uint8_t* line = at + i * 64;
      _mm_prefetch(reinterpret_cast<const char*>(line) + ahead, _MM_HINT_T1);
      sums[i] = _mm256_add_epi64(sums[i], _mm256_add_epi64(load(line), load(line + 32)));
    }
  }
  uint64_t total = reference::read_all(at, bytes);
  for (const __m256i& sum : sums) {
    uint64_t words[4];
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(words), sum);
    for (const uint64_t word : words) total += word;
  }
  return total;
}

}  // namespace inferno::kernels::avx2
