// Arithmetic on sizes that come from a file: every step is checked before any rounding.
#pragma once

#include <cstdint>
#include <optional>

namespace inferno {

inline std::optional<uint64_t> checked_add(uint64_t a, uint64_t b) {
  uint64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

inline std::optional<uint64_t> checked_mul(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

// Rounds up to a multiple of `alignment` (not zero).
inline std::optional<uint64_t> checked_align_up(uint64_t value, uint64_t alignment) {
  const uint64_t remainder = value % alignment;
  return remainder == 0 ? std::optional(value) : checked_add(value, alignment - remainder);
}

}  // namespace inferno
