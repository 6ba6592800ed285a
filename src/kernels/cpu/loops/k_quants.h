// The types with super-blocks of 256 elements, in panels: the quantized values of all blocks of 32, then for
// each super-block the scales of its groups, then its float16 scales, a lane per row; as many bytes as in the
// file.
#pragma once

#include "kernels/cpu/loops/bits.h"
#include "kernels/cpu/loops/simple_quants.h"
#include "tensor/quant_blocks.h"

namespace inferno::kernels {
namespace {

constexpr int64_t kBlocksPerSuper = 8;

// What the K types have in common: kQuantBytes for a block of 32, kScaleBytes and kHalves float16 numbers for
// a super-block.
template <class V, int64_t kQuantBytesOfBlock, int64_t kScaleBytesOfSuper, int64_t kHalves>
struct SuperBlockPanel {
  static constexpr int64_t kBlockElements = 256;
  static constexpr int64_t kQuantBytes = kQuantBytesOfBlock;

  static int64_t panel_bytes(int64_t k) {
    const int64_t supers = k / kBlockElements;
    return round_up_64(supers *
                       (kBlocksPerSuper * kQuantBytes + kScaleBytesOfSuper + 2 * kHalves * V::kLanes));
  }
  template <class Byte>
  static Byte* scales_of(Byte* panel, int64_t nb, int64_t super) {
    return panel + nb * kQuantBytes + super * kScaleBytesOfSuper;
  }
  // Number i of a super-block's halves.
  static typename V::F half(const uint8_t* panel, int64_t nb, int64_t super, int64_t i) {
    return get_half<V>(scales_of(panel, nb, nb / kBlocksPerSuper), super * kHalves + i);
  }
  static void set_half(uint8_t* panel, int64_t nb, int64_t row, int64_t super, int64_t i, uint16_t half) {
    put_half<V>(scales_of(panel, nb, nb / kBlocksPerSuper), super * kHalves + i, row, half);
  }
};

// Scale and minimum of group g of Q4_K and Q5_K, 0 .. 63: see tensor/quant_blocks.h.
inline int six_bit_scale(const uint8_t* scales, int g) {
  return g < 4 ? scales[g] & 63 : (scales[g + 4] & 15) | scales[g - 4] >> 6 << 4;
}
inline int six_bit_min(const uint8_t* scales, int g) {
  return g < 4 ? scales[g + 4] & 63 : scales[g + 4] >> 4 | scales[g] >> 6 << 4;
}

// Q4_K and Q5_K: eight scales, then eight minimums, of six bits.
template <class V, int64_t kQuantBytes>
struct PanelWithMins : SuperBlockPanel<V, kQuantBytes, six_bit_bytes<V>(16), 2> {
  using Base = SuperBlockPanel<V, kQuantBytes, six_bit_bytes<V>(16), 2>;
  static constexpr int kGroup = 32, kOffset = 0;
  static constexpr bool kHasMin = true;
  static typename V::F scale(const uint8_t* panel, int64_t nb, int64_t b, int) {
    return times(panel, nb, b, 0, Base::half(panel, nb, b / 8, 0));
  }
  // Files have it positive and subtract it.
  static typename V::F min(const uint8_t* panel, int64_t nb, int64_t b, int) {
    return times(panel, nb, b, 8, V::sub(V::zero(), Base::half(panel, nb, b / 8, 1)));
  }
  static void put_scales(uint8_t* panel, int64_t nb, int64_t row, int64_t super, const uint8_t* scales,
                         uint16_t d, uint16_t dmin) {
    for (int g = 0; g < 8; ++g) {
      put_six_bits<V>(Base::scales_of(panel, nb, super), 16, row, g, six_bit_scale(scales, g));
      put_six_bits<V>(Base::scales_of(panel, nb, super), 16, row, g + 8, six_bit_min(scales, g));
    }
    Base::set_half(panel, nb, row, super, 0, d);
    Base::set_half(panel, nb, row, super, 1, dmin);
  }

 private:
  static typename V::F times(const uint8_t* panel, int64_t nb, int64_t b, int64_t first, typename V::F d) {
    const uint8_t* numbers = Base::scales_of(panel, nb, b / 8);
    return V::mul(d, V::to_float(get_six_bits<V>(numbers, 16, first + b % 8)));
  }
};

template <class V>
struct PanelQ4_K : PanelWithMins<V, kNibbleBytes<V>> {
  using Block = BlockQ4_K;
  static typename V::I bytes(const uint8_t* panel, int64_t, int64_t b, int g) {
    return get_nibbles<V>(panel + b * kNibbleBytes<V>, g);
  }
  static void put(uint8_t* panel, int64_t nb, int64_t row, int64_t super, const Block& block) {
    for (int g = 0; g < 8; ++g) {
      uint8_t q[32];
      for (int j = 0; j < 32; ++j) q[j] = block.qs[g / 2 * 32 + j] >> g % 2 * 4 & 15;
      put_nibbles<V>(panel + (super * 8 + g) * kNibbleBytes<V>, row, q);
    }
    PanelQ4_K::put_scales(panel, nb, row, super, block.scales, block.d, block.dmin);
  }
};

template <class V>
struct PanelQ5_K : PanelWithMins<V, kNibbleBytes<V> + kBitBytes<V>> {
  using Block = BlockQ5_K;
  static typename V::I bytes(const uint8_t* panel, int64_t nb, int64_t b, int g) {
    return get_five_bits<V>(panel, nb, b, g);
  }
  static void put(uint8_t* panel, int64_t nb, int64_t row, int64_t super, const Block& block) {
    for (int g = 0; g < 8; ++g) {
      const int64_t b = super * 8 + g;
      uint8_t q[32];
      uint8_t fifth[32];
      for (int j = 0; j < 32; ++j) {
        q[j] = block.qs[g / 2 * 32 + j] >> g % 2 * 4 & 15;
        fifth[j] = block.qh[j] >> g & 1;
      }
      put_nibbles<V>(panel + b * kNibbleBytes<V>, row, q);
      put_bits<V>(panel + nb * kNibbleBytes<V> + b * kBitBytes<V>, row, fifth);
    }
    PanelQ5_K::put_scales(panel, nb, row, super, block.scales, block.d, block.dmin);
  }
};

template <class V>
struct PanelQ6_K : SuperBlockPanel<V, kNibbleBytes<V> + kPairBytes<V>, 16 * V::kLanes, 1> {
  using Block = BlockQ6_K;
  static constexpr int kGroup = 16, kZero = 32, kOffset = stored_offset<V>(kZero);
  static constexpr bool kHasMin = false;
  static typename V::I bytes(const uint8_t* panel, int64_t nb, int64_t b, int g) {
    const typename V::I high = get_pairs<V>(panel + nb * kNibbleBytes<V> + b * kPairBytes<V>, g);
    return move_bytes<V, kOffset - kZero>(
        V::or_i32(get_nibbles<V>(panel + b * kNibbleBytes<V>, g), V::template shift_left_i16<4>(high)));
  }
  static typename V::F scale(const uint8_t* panel, int64_t nb, int64_t b, int i) {
    const uint8_t* scales = PanelQ6_K::scales_of(panel, nb, b / 8) + (b % 8 * 2 + i) * V::kLanes;
    return V::mul(PanelQ6_K::half(panel, nb, b / 8, 0), V::to_float(V::load_i8(scales)));
  }
  static void put(uint8_t* panel, int64_t nb, int64_t row, int64_t super, const Block& block) {
    for (int g = 0; g < 8; ++g) {
      const int64_t b = super * 8 + g;
      uint8_t low[32];
      uint8_t high[32];
      for (int j = 0; j < 32; ++j) {
        low[j] = block.ql[g / 4 * 64 + g % 2 * 32 + j] >> g % 4 / 2 * 4 & 15;
        high[j] = block.qh[g / 4 * 32 + j] >> g % 4 * 2 & 3;
      }
      put_nibbles<V>(panel + b * kNibbleBytes<V>, row, low);
      put_pairs<V>(panel + nb * kNibbleBytes<V> + b * kPairBytes<V>, row, high);
    }
    uint8_t* scales = PanelQ6_K::scales_of(panel, nb, super);
    for (int g = 0; g < 16; ++g) scales[g * V::kLanes + row] = static_cast<uint8_t>(block.scales[g]);
    PanelQ6_K::set_half(panel, nb, row, super, 0, block.d);
  }
};

template <class V>
struct PanelQ3_K : SuperBlockPanel<V, kPairBytes<V> + kBitBytes<V>, six_bit_bytes<V>(16), 1> {
  using Block = BlockQ3_K;
  static constexpr int kGroup = 16, kZero = 4, kOffset = stored_offset<V>(kZero);
  static constexpr bool kHasMin = false;
  static typename V::I bytes(const uint8_t* panel, int64_t nb, int64_t b, int g) {
    return move_bytes<V, kOffset - kZero>(
        V::or_i32(get_pairs<V>(panel + b * kPairBytes<V>, g),
                  get_bits<V>(panel + nb * kPairBytes<V> + b * kBitBytes<V>, g, 4)));
  }
  static typename V::F scale(const uint8_t* panel, int64_t nb, int64_t b, int i) {
    const uint8_t* numbers = PanelQ3_K::scales_of(panel, nb, b / 8);
    const typename V::I scale = get_six_bits<V>(numbers, 16, b % 8 * 2 + i);
    return V::mul(PanelQ3_K::half(panel, nb, b / 8, 0), V::sub(V::to_float(scale), V::set(32.0f)));
  }
  static void put(uint8_t* panel, int64_t nb, int64_t row, int64_t super, const Block& block) {
    for (int g = 0; g < 8; ++g) {
      const int64_t b = super * 8 + g;
      uint8_t low[32];
      uint8_t high[32];
      for (int j = 0; j < 32; ++j) {
        low[j] = block.qs[g / 4 * 32 + j] >> g % 4 * 2 & 3;
        high[j] = block.hmask[j] >> g & 1;
      }
      put_pairs<V>(panel + b * kPairBytes<V>, row, low);
      put_bits<V>(panel + nb * kPairBytes<V> + b * kBitBytes<V>, row, high);
    }
    for (int g = 0; g < 16; ++g) {
      const int low = g < 8 ? block.scales[g] & 15 : block.scales[g - 8] >> 4;
      const int high = block.scales[8 + g % 4] >> g / 4 * 2 & 3;
      put_six_bits<V>(PanelQ3_K::scales_of(panel, nb, super), 16, row, g, low | high << 4);
    }
    PanelQ3_K::set_half(panel, nb, row, super, 0, block.d);
  }
};

template <class V>
struct PanelQ2_K : SuperBlockPanel<V, kPairBytes<V>, 16 * V::kLanes, 2> {
  using Block = BlockQ2_K;
  static constexpr int kGroup = 16, kOffset = 0;
  static constexpr bool kHasMin = true;
  static typename V::I bytes(const uint8_t* panel, int64_t, int64_t b, int g) {
    return get_pairs<V>(panel + b * kPairBytes<V>, g);
  }
  static typename V::F scale(const uint8_t* panel, int64_t nb, int64_t b, int i) {
    return V::mul(PanelQ2_K::half(panel, nb, b / 8, 0),
                  V::to_float(V::and_i32(numbers(panel, nb, b, i), V::set_i32(15))));
  }
  static typename V::F min(const uint8_t* panel, int64_t nb, int64_t b, int i) {
    const typename V::F dmin = V::sub(V::zero(), PanelQ2_K::half(panel, nb, b / 8, 1));
    return V::mul(dmin, V::to_float(V::shift_right_u32(numbers(panel, nb, b, i), 4)));
  }
  static void put(uint8_t* panel, int64_t nb, int64_t row, int64_t super, const Block& block) {
    for (int g = 0; g < 8; ++g) {
      uint8_t q[32];
      for (int j = 0; j < 32; ++j) q[j] = block.qs[g / 4 * 32 + j] >> g % 4 * 2 & 3;
      put_pairs<V>(panel + (super * 8 + g) * kPairBytes<V>, row, q);
    }
    uint8_t* scales = PanelQ2_K::scales_of(panel, nb, super);
    for (int g = 0; g < 16; ++g) scales[g * V::kLanes + row] = block.scales[g];
    PanelQ2_K::set_half(panel, nb, row, super, 0, block.d);
    PanelQ2_K::set_half(panel, nb, row, super, 1, block.dmin);
  }

 private:
  // Scale in the low nibble, minimum in the high one.
  static typename V::I numbers(const uint8_t* panel, int64_t nb, int64_t b, int i) {
    return V::load_u8(PanelQ2_K::scales_of(panel, nb, b / 8) + (b % 8 * 2 + i) * V::kLanes);
  }
};

template <class V>
struct PanelIQ4_XS : SuperBlockPanel<V, kNibbleBytes<V>, six_bit_bytes<V>(8), 1> {
  using Block = BlockIQ4_XS;
  static constexpr int kGroup = 32, kOffset = stored_offset<V>(128);
  static constexpr bool kHasMin = false;
  static typename V::I bytes(const uint8_t* panel, int64_t, int64_t b, int g) {
    return get_codebook<V>(panel + b * kNibbleBytes<V>, g, kIq4Values);
  }
  static typename V::F scale(const uint8_t* panel, int64_t nb, int64_t b, int) {
    const typename V::I scale = get_six_bits<V>(PanelIQ4_XS::scales_of(panel, nb, b / 8), 8, b % 8);
    return V::mul(PanelIQ4_XS::half(panel, nb, b / 8, 0), V::sub(V::to_float(scale), V::set(32.0f)));
  }
  static void put(uint8_t* panel, int64_t nb, int64_t row, int64_t super, const Block& block) {
    for (int g = 0; g < 8; ++g) {
      uint8_t q[32];
      take_nibbles(block.qs + g * 16, q);
      put_nibbles<V>(panel + (super * 8 + g) * kNibbleBytes<V>, row, q);
      const int scale = (block.scales_l[g / 2] >> g % 2 * 4 & 15) | (block.scales_h >> 2 * g & 3) << 4;
      put_six_bits<V>(PanelIQ4_XS::scales_of(panel, nb, super), 8, row, g, scale);
    }
    PanelIQ4_XS::set_half(panel, nb, row, super, 0, block.d);
  }
};

}  // namespace
}  // namespace inferno::kernels
