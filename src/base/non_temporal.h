// Copies to memory that is not read again soon. Ordinary stores first read each line into the caches, where
// it takes the place of others; these write whole lines without (Intel's Software Developer's Manual, volume
// 1, "Caching of Temporal vs. Non-Temporal Data").
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace inferno {

// As memcpy(), also for other threads: who is told of it afterwards sees it. On x86-64 only; memcpy
// elsewhere.
inline void non_temporal_copy(void* to, const void* from, size_t bytes) {
#if defined(__x86_64__)
  constexpr size_t kLine = 64;
  auto* out = static_cast<std::byte*>(to);
  const auto* in = static_cast<const std::byte*>(from);
  // A part of a line that is written alone costs as much as the line.
  const size_t before = std::min(bytes, (0 - reinterpret_cast<uintptr_t>(out)) % kLine);
  std::memcpy(out, in, before);
  size_t i = before;
  for (; i + kLine <= bytes; i += kLine) {
    const auto* from_line = reinterpret_cast<const __m128i*>(in + i);
    auto* to_line = reinterpret_cast<__m128i*>(out + i);
    const __m128i parts[] = {_mm_loadu_si128(from_line), _mm_loadu_si128(from_line + 1),
                             _mm_loadu_si128(from_line + 2), _mm_loadu_si128(from_line + 3)};
#pragma GCC unroll 4
    for (int part = 0; part < 4; ++part) _mm_stream_si128(to_line + part, parts[part]);
  }
  std::memcpy(out + i, in + i, bytes - i);
  _mm_sfence();  // such stores are not ordered by what releases others
#else
  std::memcpy(to, from, bytes);
#endif
}

}  // namespace inferno
