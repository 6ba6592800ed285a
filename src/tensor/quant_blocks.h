// Layout of the quantized blocks in a file, byte for byte. Plain data: kernels may include it.
// Source: ggml's block formats (ggml-common.h documents the same layouts); MXFP4: OCP Microscaling Formats
// v1.0. w is an element's value; d, m (dmin) are the block's scale and minimum (F16 unless said otherwise); q
// is unsigned, a qs of int8_t excepted.
#pragma once

#include <cstdint>

namespace inferno {

constexpr int kBlock32 = 32;      // elements of a plain block
constexpr int kSuperBlock = 256;  // elements of a K-quant super-block

struct BlockQ4_0 {  // w = d * (q - 8)
  uint16_t d;
  uint8_t qs[16];  // element i (< 16): low nibble of byte i; element i + 16: high nibble
};
struct BlockQ4_1 {  // w = d * q + m
  uint16_t d;
  uint16_t m;
  uint8_t qs[16];
};
struct BlockQ5_0 {  // w = d * (q - 16); bit i of qh is the fifth bit of element i
  uint16_t d;
  uint8_t qh[4];  // little-endian 32 bits
  uint8_t qs[16];
};
struct BlockQ5_1 {  // w = d * q + m
  uint16_t d;
  uint16_t m;
  uint8_t qh[4];
  uint8_t qs[16];
};
struct BlockQ8_0 {  // w = d * q
  uint16_t d;
  int8_t qs[32];
};
// K-quants and IQ4_XS: group g of 16 (or 32) has the consecutive elements 16 g .. 16 g + 15 (or 32 g .. 32 g
// + 31).
struct BlockQ2_K {     // 16 groups of 16: w = d * (scales[g] & 15) * q - dmin * (scales[g] >> 4)
  uint8_t scales[16];  // low nibble: scale, high nibble: minimum
  // 2 bits: each half of 128 elements is 32 bytes, whose bit pairs j hold the half's elements 32 j .. 32 j +
  // 31
  uint8_t qs[64];
  uint16_t d;
  uint16_t dmin;
};
struct BlockQ3_K {    // 16 groups of 16: w = d * (scale[g] - 32) * (q - (high bit ? 0 : 4))
  uint8_t hmask[32];  // bit (i / 32) of byte (i % 32): the third bit of element i
  uint8_t qs[64];     // low two bits, laid out as qs of Q2_K
  // 16 six-bit scales. Low four bits: g < 8: low nibble of byte g, else high nibble of byte g - 8. High two
  // bits: bit pair g / 4 of byte 8 + g % 4.
  uint8_t scales[12];
  uint16_t d;
};
struct BlockQ4_K {  // 8 groups of 32: w = d * scale[g] * q - dmin * min[g]
  uint16_t d;
  uint16_t dmin;
  // 8 six-bit scales and minimums. g < 4: low six bits of byte g and of byte g + 4. g >= 4: the low and the
  // high nibble of byte g + 4, with the top two bits of byte g - 4 and of byte g above them.
  uint8_t scales[12];
  uint8_t qs[128];  // 32 bytes hold groups 2 c and 2 c + 1: low nibbles, high nibbles
};
struct BlockQ5_K {  // as Q4_K with a fifth bit
  uint16_t d;
  uint16_t dmin;
  uint8_t scales[12];
  uint8_t qh[32];  // bit g of byte j: the fifth bit of element 32 g + j
  uint8_t qs[128];
};
struct BlockQ6_K {  // 16 groups of 16: w = d * scales[g] * (q - 32)
  // Low four bits: each half of 128 elements is 64 bytes, low nibbles its elements 0..63, high
  // nibbles 64..127.
  uint8_t ql[128];
  uint8_t qh[64];  // high two bits, laid out as qs of Q2_K
  int8_t scales[16];
  uint16_t d;
};
struct BlockQ8_K {  // w = d * q, d in F32
  float d;
  int8_t qs[256];
  int16_t bsums[16];  // sums of groups of 16, for dot products
};
struct BlockIQ4_NL {  // w = d * codebook[q]; nibbles as in Q4_0
  uint16_t d;
  uint8_t qs[16];
};
struct BlockIQ4_XS {  // 8 groups of 32: w = d * (scale[g] - 32) * codebook[q]
  uint16_t d;
  uint16_t scales_h;    // 2 high bits of scale[g]: bit pair g
  uint8_t scales_l[4];  // 4 low bits of scale[g]: nibble g % 2 (0 = low) of byte g / 2
  uint8_t qs[128];      // 16 bytes per group, nibbles as in Q4_0
};
struct BlockMXFP4 {  // w = 2^(e - 127) * e2m1[q]; nibbles as in Q4_0
  uint8_t e;
  uint8_t qs[16];
};

static_assert(sizeof(BlockQ4_0) == 18 && sizeof(BlockQ4_1) == 20 && sizeof(BlockQ5_0) == 22 &&
              sizeof(BlockQ5_1) == 24 && sizeof(BlockQ8_0) == 34);
static_assert(sizeof(BlockQ2_K) == 84 && sizeof(BlockQ3_K) == 110 && sizeof(BlockQ4_K) == 144 &&
              sizeof(BlockQ5_K) == 176 && sizeof(BlockQ6_K) == 210 && sizeof(BlockQ8_K) == 292);
static_assert(sizeof(BlockIQ4_NL) == 18 && sizeof(BlockIQ4_XS) == 136 && sizeof(BlockMXFP4) == 17);

}  // namespace inferno
