// The packing of scales and minimums that Q4_K and Q5_K share.
#pragma once

#include <cstdint>

namespace inferno::kernels::reference {

struct ScaleAndMin {
  int scale;  // 0 .. 63
  int min;    // 0 .. 63
};

// Group g < 4 has the low six bits of bytes g and g + 4; group g >= 4 has the nibbles of byte g + 4 and,
// above them, the top two bits of bytes g - 4 and g.
static inline ScaleAndMin unpack_scale_and_min(const uint8_t* scales, int g) {
  if (g < 4) return {scales[g] & 63, scales[g + 4] & 63};
  return {(scales[g + 4] & 15) | (scales[g - 4] >> 6 << 4), scales[g + 4] >> 4 | (scales[g] >> 6 << 4)};
}

}  // namespace inferno::kernels::reference
