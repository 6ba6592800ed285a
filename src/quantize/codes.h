// The codes that a quantized format gives its elements, as numbers in units of the scale: what a search over
// scales rounds to.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/reference/codebook_iq4.h"

namespace inferno::quantize {

// Four values at once, on any processor.
using Lanes [[gnu::vector_size(16)]] = float;
constexpr int kLanes = 4;

inline Lanes load(const float* x) {
  Lanes values;
  std::memcpy(&values, x, sizeof values);
  return values;
}
inline float sum(const Lanes& x) {
  return (x[0] + x[2]) + (x[1] + x[3]);
}

inline Lanes clamped(Lanes x, float low, float high) {
  const Lanes lows = Lanes{} + low, highs = Lanes{} + high;
  x = x > lows ? x : lows;
  return x < highs ? x : highs;
}

// Nearest whole numbers, ties to even, of |x| < 2^22.
inline Lanes rounded(const Lanes& x) {
  constexpr float kShift = 12582912.0f;  // 1.5 * 2^23, where floats are a whole 1 apart
  return (x + kShift) - kShift;
}

// All whole numbers from kLow to kHigh. The code is stored as its distance from kLow.
template <int kLow, int kHigh>
struct IntegerCodes {
  static constexpr float kLargest = -kLow > kHigh ? -kLow : kHigh;

  static Lanes nearest(const Lanes& x) { return rounded(clamped(x, kLow, kHigh)); }
  static uint8_t index(float nearest) { return static_cast<uint8_t>(static_cast<int>(nearest) - kLow); }
};

// The 16 numbers of IQ4_NL and IQ4_XS.
struct CodebookIQ4 {
  static constexpr float kLargest = 127;
  static constexpr int kLow = -127, kHigh = 113;

  static Lanes nearest(const Lanes& x) {
    const Lanes twice = rounded(2.0f * clamped(x, kLow, kHigh));
    Lanes result;
    for (int lane = 0; lane < kLanes; ++lane) {
      const uint8_t code = kIndexOfHalves[static_cast<size_t>(static_cast<int>(twice[lane]) - 2 * kLow)];
      result[lane] = static_cast<float>(kernels::reference::kCodebookIQ4[code]);
    }
    return result;
  }
  static uint8_t index(float nearest) {
    return kIndexOfHalves[static_cast<size_t>(2 * (static_cast<int>(nearest) - kLow))];
  }

 private:
  // For each half of a whole number the nearest code. The boundaries between codes are halves, so this is off
  // only within a quarter of one, where two codes are about as good.
  static constexpr auto kIndexOfHalves = [] {
    std::array<uint8_t, 2 * (kHigh - kLow) + 1> table{};
    uint8_t code = 0;
    for (size_t i = 0; i < table.size(); ++i) {
      const int twice = static_cast<int>(i) + 2 * kLow;
      const auto boundary = [&] {
        return kernels::reference::kCodebookIQ4[code] + kernels::reference::kCodebookIQ4[code + 1];
      };
      while (code < 15 && twice > boundary()) ++code;
      table[i] = code;
    }
    return table;
  }();
};

}  // namespace inferno::quantize
