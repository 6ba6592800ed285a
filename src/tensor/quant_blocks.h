// Layout of the quantized blocks in a file, byte for byte. Plain data: kernels may include it.
// Source: ggml's block formats (ggml-common.h documents the same layouts); MXFP4: OCP Microscaling Formats v1.0.
// w is an element's value; d, m are the block's scale and minimum (F16 unless said otherwise).
#pragma once

#include <cstdint>

namespace inferno {

constexpr int kBlock32 = 32;     // elements of a plain block
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
struct BlockQ2_K {     // 16 groups of 16: w = d * (scales[g] & 15) * q - dmin * (scales[g] >> 4)
  uint8_t scales[16];  // low nibble: scale, high nibble: minimum
  uint8_t qs[64];      // 2 bits: each half of 128 elements is 32 bytes, bit pair j holds elements 32 j .. 32 j + 31
  uint16_t d;
  uint16_t dmin;
};
struct BlockQ3_K {     // 16 groups of 16: w = d * (scale[g] - 32) * (q - (high bit ? 0 : 4))
  uint8_t hmask[32];   // bit (i / 32) of byte (i % 32): the third bit of element i
  uint8_t qs[64];      // low two bits, laid out as in Q2_K
  uint8_t scales[12];  // 16 six-bit scales: low nibbles in bytes 0..7, high pairs in bytes 8..11
  uint16_t d;
};
struct BlockQ4_K {  // 8 groups of 32: w = d * scale[g] * q - dmin * min[g]
  uint16_t d;
  uint16_t dmin;
  uint8_t scales[12];  // 8 six-bit scales and 8 six-bit minimums
  uint8_t qs[128];     // 64 elements per 32 bytes: low nibbles first, then high nibbles
};
struct BlockQ5_K {  // as Q4_K with a fifth bit
  uint16_t d;
  uint16_t dmin;
  uint8_t scales[12];
  uint8_t qh[32];  // bit g of byte j: the fifth bit of element 32 g + j
  uint8_t qs[128];
};
struct BlockQ6_K {    // 16 groups of 16: w = d * scales[g] * (q - 32)
  uint8_t ql[128];    // low four bits
  uint8_t qh[64];     // high two bits
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
  uint16_t scales_h;    // 2 high bits per group
  uint8_t scales_l[4];  // 4 low bits per group
  uint8_t qs[128];
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
