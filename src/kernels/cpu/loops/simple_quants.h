// The types with blocks of 32 and their own scale each, in panels (stream.h).
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

// Scales in float16 and, after them, minimums.
template <class V, class Panel>
struct HalfScales {
  const uint8_t* halves;
  void load(const uint8_t* panel, int64_t, int64_t b) { halves = Panel::scales_of(panel, b); }
  typename V::F scale(int64_t, int) const { return get_half<V>(halves, 0); }
  typename V::F min(int64_t, int) const { return get_half<V>(halves, 1); }
};

template <class V>
struct PanelQ4_0 : StreamedPanel<V, kNibbleBytes<V>, 1, 2 * V::kLanes> {
  using Block = BlockQ4_0;
  static constexpr int64_t kBlockElements = 32;
  static constexpr bool kIsNibbles = true;
  static constexpr int kGroup = 32, kZero = 8, kOffset = stored_offset<V>(kZero), kMost = 15;
  static constexpr bool kHasMin = false;
  using Scales = HalfScales<V, PanelQ4_0>;
  static typename V::I bytes(const uint8_t* block, int g) {
    return move_bytes<V, kOffset - kZero>(get_nibbles<V>(block, g));
  }
  static void put(uint8_t* panel, int64_t row, int64_t b, const Block& block) {
    uint8_t q[32];
    take_nibbles(block.qs, q);
    put_nibbles<V>(PanelQ4_0::block(panel, b), row, q);
    put_half<V>(PanelQ4_0::scales_of(panel, b), 0, row, block.d);
  }
};

template <class V>
struct PanelQ4_1 : StreamedPanel<V, kNibbleBytes<V>, 1, 4 * V::kLanes> {
  using Block = BlockQ4_1;
  static constexpr int64_t kBlockElements = 32;
  static constexpr bool kIsNibbles = true;
  static constexpr int kGroup = 32, kOffset = 0, kMost = 15;
  static constexpr bool kHasMin = true;
  using Scales = HalfScales<V, PanelQ4_1>;
  static typename V::I bytes(const uint8_t* block, int g) { return get_nibbles<V>(block, g); }
  static void put(uint8_t* panel, int64_t row, int64_t b, const Block& block) {
    uint8_t q[32];
    take_nibbles(block.qs, q);
    put_nibbles<V>(PanelQ4_1::block(panel, b), row, q);
    put_half<V>(PanelQ4_1::scales_of(panel, b), 0, row, block.d);
    put_half<V>(PanelQ4_1::scales_of(panel, b), 1, row, block.m);
  }
};

// The fifth bits, then the four below.
template <class V, class Block>
void put_five_bits(uint8_t* bytes, int64_t row, const Block& block) {
  uint8_t q[32];
  uint8_t fifth[32];
  take_nibbles(block.qs, q);
  for (int i = 0; i < 32; ++i) fifth[i] = block.qh[i / 8] >> i % 8 & 1;
  put_bits<V>(bytes, row, fifth);
  put_nibbles<V>(bytes + kBitBytes<V>, row, q);
}

template <class V>
[[gnu::always_inline]] inline typename V::I get_five_bits(const uint8_t* bytes, int g) {
  return V::or_i32(get_bits<V, 4>(bytes, g), get_nibbles<V>(bytes + kBitBytes<V>, g));
}

template <class V>
struct PanelQ5_0 : StreamedPanel<V, kNibbleBytes<V> + kBitBytes<V>, 1, 2 * V::kLanes> {
  using Block = BlockQ5_0;
  static constexpr int64_t kBlockElements = 32;
  static constexpr int kGroup = 32, kZero = 16, kOffset = stored_offset<V>(kZero), kMost = 31;
  static constexpr bool kHasMin = false;
  using Scales = HalfScales<V, PanelQ5_0>;
  static typename V::I bytes(const uint8_t* block, int g) {
    return move_bytes<V, kOffset - kZero>(get_five_bits<V>(block, g));
  }
  static void put(uint8_t* panel, int64_t row, int64_t b, const Block& block) {
    put_five_bits<V>(PanelQ5_0::block(panel, b), row, block);
    put_half<V>(PanelQ5_0::scales_of(panel, b), 0, row, block.d);
  }
};

template <class V>
struct PanelQ5_1 : StreamedPanel<V, kNibbleBytes<V> + kBitBytes<V>, 1, 4 * V::kLanes> {
  using Block = BlockQ5_1;
  static constexpr int64_t kBlockElements = 32;
  static constexpr int kGroup = 32, kOffset = 0, kMost = 31;
  static constexpr bool kHasMin = true;
  using Scales = HalfScales<V, PanelQ5_1>;
  static typename V::I bytes(const uint8_t* block, int g) { return get_five_bits<V>(block, g); }
  static void put(uint8_t* panel, int64_t row, int64_t b, const Block& block) {
    put_five_bits<V>(PanelQ5_1::block(panel, b), row, block);
    put_half<V>(PanelQ5_1::scales_of(panel, b), 0, row, block.d);
    put_half<V>(PanelQ5_1::scales_of(panel, b), 1, row, block.m);
  }
};

// The 16 values of IQ4_NL and IQ4_XS, and those of MXFP4 times 2 (so that they are whole numbers).
constexpr int8_t kIq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
constexpr int8_t kMxfp4Values[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

template <class V, int kOffset>
typename V::I get_codebook(const uint8_t* block, int g, const int8_t (&values)[16]) {
  int8_t table[16];
  for (int i = 0; i < 16; ++i) table[i] = static_cast<int8_t>(values[i] + kOffset);
  return V::lookup(table, get_nibbles<V>(block, g));
}

template <class V>
struct PanelIQ4_NL : PanelQ4_0<V> {  // laid out as Q4_0, with another meaning of the nibbles
  static constexpr bool kIsNibbles = false;
  static constexpr int kOffset = stored_offset<V>(128), kMost = UINT8_MAX;
  static typename V::I bytes(const uint8_t* block, int g) {
    return get_codebook<V, kOffset>(block, g, kIq4Values);
  }
};

template <class V>
struct PanelMXFP4 : StreamedPanel<V, kNibbleBytes<V>, 1, V::kLanes> {
  using Block = BlockMXFP4;
  static constexpr int64_t kBlockElements = 32;
  static constexpr int kGroup = 32, kMost = 28;  // 16 + 12
  static constexpr int kOffset = stored_offset<V>(128) == 128 ? 128 : sums_in_words<V>() ? 16 : 0;
  static constexpr bool kHasMin = false;
  static typename V::I bytes(const uint8_t* block, int g) {
    return get_codebook<V, kOffset>(block, g, kMxfp4Values);
  }
  struct Scales {
    const uint8_t* e;
    void load(const uint8_t* panel, int64_t, int64_t b) { e = PanelMXFP4::scales_of(panel, b); }
    // Half of the block's, as the values are doubled.
    typename V::F scale(int64_t, int) const { return V::mul(V::load_e8m0(e), V::set(0.5f)); }
  };
  static void put(uint8_t* panel, int64_t row, int64_t b, const Block& block) {
    uint8_t q[32];
    take_nibbles(block.qs, q);
    put_nibbles<V>(PanelMXFP4::block(panel, b), row, q);
    PanelMXFP4::scales_of(panel, b)[row] = block.e;
  }
};

}  // namespace
}  // namespace inferno::kernels
