// How K-quants lay out the codes of a super-block (tensor/quant_blocks.h).
#pragma once

#include "quantize/super_block.h"

namespace inferno::quantize {

// The codes of all groups, for what will be read back.
template <int kHigh, int kGroups>
std::array<uint8_t, kSuperBlock> encode_groups(const float* x, const AffineGroups<kGroups>& fit) {
  constexpr int kSize = kSuperBlock / kGroups;
  std::array<uint8_t, kSuperBlock> codes;
  for (int g = 0; g < kGroups; ++g) {
    encode<kSize, IntegerCodes<0, kHigh>>(x + kSize * g, fit.d * static_cast<float>(fit.scale[g]),
                                          fit.dmin * static_cast<float>(fit.min[g]),
                                          codes.data() + kSize * g);
  }
  return codes;
}

// Two bits of each code, from bit `first` on: 32 bytes hold 128 elements, bit pair j those of 32 j and after.
inline void pack_pairs(const uint8_t* codes, int first, uint8_t* out) {
  for (int i = 0; i < 64; ++i) {
    const uint8_t* element = codes + i / 32 * 128 + i % 32;
    int byte = 0;
    for (int j = 0; j < 4; ++j) byte |= (element[32 * j] >> first & 3) << (2 * j);
    out[i] = static_cast<uint8_t>(byte);
  }
}

// The low four bits of each code in groups of 32: 32 bytes hold two groups, low nibbles and high nibbles.
inline void pack_nibbles_k(const uint8_t* codes, uint8_t* qs) {
  for (int i = 0; i < 128; ++i) {
    const uint8_t* element = codes + i / 32 * 64 + i % 32;
    qs[i] = static_cast<uint8_t>((element[0] & 15) | (element[32] & 15) << 4);
  }
}

// The twelve bytes of Q4_K and Q5_K.
inline void pack_scales_and_mins(const AffineGroups<8>& fit, uint8_t* scales) {
  for (int g = 0; g < 4; ++g) {
    const int scale = fit.scale[g], min = fit.min[g], scale4 = fit.scale[g + 4], min4 = fit.min[g + 4];
    scales[g] = static_cast<uint8_t>(scale | scale4 >> 4 << 6);
    scales[g + 4] = static_cast<uint8_t>(min | min4 >> 4 << 6);
    scales[g + 8] = static_cast<uint8_t>((scale4 & 15) | (min4 & 15) << 4);
  }
}

}  // namespace inferno::quantize
