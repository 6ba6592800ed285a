// One block: its scale (and offset) as it is stored, and the code of each element.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "quantize/fit.h"
#include "tensor/half.h"
#include "tensor/quant_blocks.h"

namespace inferno::quantize {

// The codes of x = scale * q - min, for the scale and minimum that will be read back.
template <int kN, class Codes>
void encode(const float* x, float scale, float min, uint8_t* codes) {
  const float inverse = scale == 0 ? 0 : 1 / scale;
  for (int i = 0; i < kN; i += kLanes) {
    const Lanes nearest = Codes::nearest((load(x + i) + min) * inverse);
    for (int lane = 0; lane < kLanes; ++lane) codes[i + lane] = Codes::index(nearest[lane]);
  }
}

// A scale as F16, but the least that there is in place of 0: values that small are not all nothing.
inline uint16_t scale_to_f16(float scale) {
  constexpr uint16_t kSignBit = 0x8000, kLeast = 1;
  const uint16_t bits = f32_to_f16(scale);
  return scale != 0 && (bits & ~kSignBit) == 0 ? static_cast<uint16_t>(bits | kLeast) : bits;
}

// value = d * q
struct ScaledBlock {
  uint16_t d;
  std::array<uint8_t, kBlock32> codes;
};

template <class Codes>
ScaledBlock fit_scaled_block(const float* x) {
  ScaledBlock block;
  block.d = scale_to_f16(fit_scale<kBlock32, Codes>(x));
  encode<kBlock32, Codes>(x, f16_to_f32(block.d), 0, block.codes.data());
  return block;
}

// value = d * q + m
struct AffineBlock {
  uint16_t d, m;
  std::array<uint8_t, kBlock32> codes;
};

template <int kHigh>
AffineBlock fit_affine_block(const float* x) {
  const Affine fit = AffineFit<kBlock32, kHigh, OffsetSign::kAny>(x).run();
  AffineBlock block;
  block.d = scale_to_f16(fit.scale);
  block.m = f32_to_f16(fit.offset);
  encode<kBlock32, IntegerCodes<0, kHigh>>(x, f16_to_f32(block.d), -f16_to_f32(block.m), block.codes.data());
  return block;
}

// The low four bits of 32 codes: byte i has those of elements i and i + 16.
inline void pack_nibbles(const uint8_t* codes, uint8_t* qs) {
  for (int i = 0; i < 16; ++i) qs[i] = static_cast<uint8_t>((codes[i] & 15) | (codes[i + 16] & 15) << 4);
}

// Bit 4 of 32 codes, element i in bit i % 8 of byte i / 8.
inline void pack_fifth_bits(const uint8_t* codes, uint8_t* qh) {
  for (int byte = 0; byte < 4; ++byte) {
    qh[byte] = 0;
    for (int bit = 0; bit < 8; ++bit)
      qh[byte] |= static_cast<uint8_t>((codes[8 * byte + bit] >> 4 & 1) << bit);
  }
}

}  // namespace inferno::quantize
