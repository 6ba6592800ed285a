// The types with blocks of 32 and their own scale each, in panels. Every panel has the quantized values
// first, then the scales and what else there is, each for all blocks, a lane per row; as many bytes as in the
// file.
#pragma once

#include "kernels/cpu/loops/bits.h"
#include "tensor/quant_blocks.h"

namespace inferno::kernels {
namespace {

// The four bits that elements i and i + 16 have in byte i.
inline void take_nibbles(const uint8_t* bytes, uint8_t* q) {
  for (int i = 0; i < 16; i += 4) {
    const uint32_t four = load_four(bytes + i);
    store_four(q + i, four & 0x0f0f0f0f);
    store_four(q + i + 16, four >> 4 & 0x0f0f0f0f);
  }
}

template <class V>
struct PanelQ4_0 {
  using Block = BlockQ4_0;
  static constexpr int64_t kBlockElements = 32;
  static constexpr int kGroup = 32, kZero = 8, kOffset = stored_offset<V>(kZero);
  static constexpr bool kHasMin = false;
  static int64_t panel_bytes(int64_t k) {
    return round_up_64(k / kBlock * (kNibbleBytes<V> + 2 * V::kLanes));
  }
  static typename V::I bytes(const uint8_t* panel, int64_t, int64_t b, int g) {
    return move_bytes<V, kOffset - kZero>(get_nibbles<V>(panel + b * kNibbleBytes<V>, g));
  }
  static typename V::F scale(const uint8_t* panel, int64_t nb, int64_t b, int) {
    return get_half<V>(panel + nb * kNibbleBytes<V>, b);
  }
  static void put(uint8_t* panel, int64_t nb, int64_t row, int64_t b, const Block& block) {
    uint8_t q[32];
    take_nibbles(block.qs, q);
    put_nibbles<V>(panel + b * kNibbleBytes<V>, row, q);
    put_half<V>(panel + nb * kNibbleBytes<V>, b, row, block.d);
  }
};

template <class V>
struct PanelQ4_1 {
  using Block = BlockQ4_1;
  static constexpr int64_t kBlockElements = 32;
  static constexpr int kGroup = 32, kOffset = 0;
  static constexpr bool kHasMin = true;
  static int64_t panel_bytes(int64_t k) {
    return round_up_64(k / kBlock * (kNibbleBytes<V> + 4 * V::kLanes));
  }
  static typename V::I bytes(const uint8_t* panel, int64_t, int64_t b, int g) {
    return get_nibbles<V>(panel + b * kNibbleBytes<V>, g);
  }
  static typename V::F scale(const uint8_t* panel, int64_t nb, int64_t b, int) {
    return get_half<V>(panel + nb * kNibbleBytes<V>, 2 * b);
  }
  static typename V::F min(const uint8_t* panel, int64_t nb, int64_t b, int) {
    return get_half<V>(panel + nb * kNibbleBytes<V>, 2 * b + 1);
  }
  static void put(uint8_t* panel, int64_t nb, int64_t row, int64_t b, const Block& block) {
    uint8_t q[32];
    take_nibbles(block.qs, q);
    put_nibbles<V>(panel + b * kNibbleBytes<V>, row, q);
    put_half<V>(panel + nb * kNibbleBytes<V>, 2 * b, row, block.d);
    put_half<V>(panel + nb * kNibbleBytes<V>, 2 * b + 1, row, block.m);
  }
};

// The nibbles and fifth bits of a block of Q5_0 or Q5_1.
template <class V, class Block>
void put_five_bits(uint8_t* panel, int64_t nb, int64_t row, int64_t b, const Block& block) {
  uint8_t q[32];
  uint8_t fifth[32];
  take_nibbles(block.qs, q);
  for (int i = 0; i < 32; ++i) fifth[i] = block.qh[i / 8] >> i % 8 & 1;
  put_nibbles<V>(panel + b * kNibbleBytes<V>, row, q);
  put_bits<V>(panel + nb * kNibbleBytes<V> + b * kBitBytes<V>, row, fifth);
}

template <class V>
typename V::I get_five_bits(const uint8_t* panel, int64_t nb, int64_t b, int g) {
  return V::or_i32(get_nibbles<V>(panel + b * kNibbleBytes<V>, g),
                   get_bits<V>(panel + nb * kNibbleBytes<V> + b * kBitBytes<V>, g, 16));
}

template <class V>
struct PanelQ5_0 {
  using Block = BlockQ5_0;
  static constexpr int64_t kBlockElements = 32;
  static constexpr int64_t kQuantBytes = kNibbleBytes<V> + kBitBytes<V>;
  static constexpr int kGroup = 32, kZero = 16, kOffset = stored_offset<V>(kZero);
  static constexpr bool kHasMin = false;
  static int64_t panel_bytes(int64_t k) { return round_up_64(k / kBlock * (kQuantBytes + 2 * V::kLanes)); }
  static typename V::I bytes(const uint8_t* panel, int64_t nb, int64_t b, int g) {
    return move_bytes<V, kOffset - kZero>(get_five_bits<V>(panel, nb, b, g));
  }
  static typename V::F scale(const uint8_t* panel, int64_t nb, int64_t b, int) {
    return get_half<V>(panel + nb * kQuantBytes, b);
  }
  static void put(uint8_t* panel, int64_t nb, int64_t row, int64_t b, const Block& block) {
    put_five_bits<V>(panel, nb, row, b, block);
    put_half<V>(panel + nb * kQuantBytes, b, row, block.d);
  }
};

template <class V>
struct PanelQ5_1 {
  using Block = BlockQ5_1;
  static constexpr int64_t kBlockElements = 32;
  static constexpr int64_t kQuantBytes = kNibbleBytes<V> + kBitBytes<V>;
  static constexpr int kGroup = 32, kOffset = 0;
  static constexpr bool kHasMin = true;
  static int64_t panel_bytes(int64_t k) { return round_up_64(k / kBlock * (kQuantBytes + 4 * V::kLanes)); }
  static typename V::I bytes(const uint8_t* panel, int64_t nb, int64_t b, int g) {
    return get_five_bits<V>(panel, nb, b, g);
  }
  static typename V::F scale(const uint8_t* panel, int64_t nb, int64_t b, int) {
    return get_half<V>(panel + nb * kQuantBytes, 2 * b);
  }
  static typename V::F min(const uint8_t* panel, int64_t nb, int64_t b, int) {
    return get_half<V>(panel + nb * kQuantBytes, 2 * b + 1);
  }
  static void put(uint8_t* panel, int64_t nb, int64_t row, int64_t b, const Block& block) {
    put_five_bits<V>(panel, nb, row, b, block);
    put_half<V>(panel + nb * kQuantBytes, 2 * b, row, block.d);
    put_half<V>(panel + nb * kQuantBytes, 2 * b + 1, row, block.m);
  }
};

// The 16 values of IQ4_NL and IQ4_XS, and those of MXFP4 times 2 (so that they are whole numbers).
constexpr int8_t kIq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
constexpr int8_t kMxfp4Values[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

template <class V>
typename V::I get_codebook(const uint8_t* block, int g, const int8_t (&values)[16]) {
  constexpr int8_t kFlip = stored_offset<V>(128) == 128 ? -128 : 0;
  int8_t table[16];
  for (int i = 0; i < 16; ++i) table[i] = static_cast<int8_t>(values[i] ^ kFlip);
  return V::lookup(table, get_nibbles<V>(block, g));
}

template <class V>
struct PanelIQ4_NL : PanelQ4_0<V> {  // laid out as Q4_0, with another meaning of the nibbles
  static constexpr int kOffset = stored_offset<V>(128);
  static typename V::I bytes(const uint8_t* panel, int64_t, int64_t b, int g) {
    return get_codebook<V>(panel + b * kNibbleBytes<V>, g, kIq4Values);
  }
};

template <class V>
struct PanelMXFP4 {
  using Block = BlockMXFP4;
  static constexpr int64_t kBlockElements = 32;
  static constexpr int kGroup = 32, kOffset = stored_offset<V>(128);
  static constexpr bool kHasMin = false;
  static int64_t panel_bytes(int64_t k) { return round_up_64(k / kBlock * (kNibbleBytes<V> + V::kLanes)); }
  static typename V::I bytes(const uint8_t* panel, int64_t, int64_t b, int g) {
    return get_codebook<V>(panel + b * kNibbleBytes<V>, g, kMxfp4Values);
  }
  // Half of the block's, as the values are doubled.
  static typename V::F scale(const uint8_t* panel, int64_t nb, int64_t b, int) {
    return V::mul(V::load_e8m0(panel + nb * kNibbleBytes<V> + b * V::kLanes), V::set(0.5f));
  }
  static void put(uint8_t* panel, int64_t nb, int64_t row, int64_t b, const Block& block) {
    uint8_t q[32];
    take_nibbles(block.qs, q);
    put_nibbles<V>(panel + b * kNibbleBytes<V>, row, q);
    panel[nb * kNibbleBytes<V> + b * V::kLanes + row] = block.e;
  }
};

}  // namespace
}  // namespace inferno::kernels
