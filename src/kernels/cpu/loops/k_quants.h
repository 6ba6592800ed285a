// The types with super-blocks of 256 elements, in panels (stream.h): the scales of a super-block are those of
// its groups, then its own in float16, a lane per row.
#pragma once

#include "kernels/cpu/loops/bits.h"
#include "kernels/cpu/loops/simple_quants.h"
#include "tensor/quant_blocks.h"

namespace inferno::kernels {
namespace {

constexpr int64_t kBlocksPerSuper = 8;

// What the K types have in common: kBytes for a block of 32, kScaleBytes and kHalves float16 numbers for a
// super-block.
template <class V, int64_t kBytes, int64_t kScaleBytes, int64_t kHalves>
struct SuperBlockPanel : StreamedPanel<V, kBytes, kBlocksPerSuper, kScaleBytes + 2 * kHalves * V::kLanes> {
  static constexpr int64_t kBlockElements = 256;

  template <class Byte>
  static Byte* scales_of_super(Byte* panel, int64_t super) {
    return SuperBlockPanel::scales_of(panel, super * kBlocksPerSuper);
  }
  // Number i of a super-block's halves.
  static typename V::F half(const uint8_t* scales, int64_t i) { return get_half<V>(scales + kScaleBytes, i); }
  static void set_half(uint8_t* panel, int64_t row, int64_t super, int64_t i, uint16_t half) {
    put_half<V>(scales_of_super(panel, super) + kScaleBytes, i, row, half);
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
template <class V, int64_t kBytes>
struct PanelWithMins : SuperBlockPanel<V, kBytes, kSixBitBytes<V>, 2> {
  using Base = SuperBlockPanel<V, kBytes, kSixBitBytes<V>, 2>;
  static constexpr int kGroup = 32, kOffset = 0;
  static constexpr bool kHasMin = true;
  struct Scales {
    alignas(64) uint8_t numbers[16 * V::kLanes];
    typename V::F d, minus_dmin;  // files have minimums positive and subtract them
    void load(const uint8_t* panel, int64_t, int64_t b) {
      const uint8_t* scales = Base::scales_of(panel, b);
      get_six_bits<V>(scales, numbers);
      d = Base::half(scales, 0);
      minus_dmin = V::sub(V::zero(), Base::half(scales, 1));
    }
    typename V::F scale(int64_t j, int) const { return V::mul(d, number(j)); }
    typename V::F min(int64_t j, int) const { return V::mul(minus_dmin, number(8 + j)); }

   private:
    typename V::F number(int64_t i) const { return V::to_float(V::load_u8(numbers + i * V::kLanes)); }
  };
  static void put_scales(uint8_t* panel, int64_t row, int64_t super, const uint8_t* scales, uint16_t d,
                         uint16_t dmin) {
    for (int g = 0; g < 8; ++g) {
      put_six_bits<V>(Base::scales_of_super(panel, super), row, g, six_bit_scale(scales, g));
      put_six_bits<V>(Base::scales_of_super(panel, super), row, g + 8, six_bit_min(scales, g));
    }
    Base::set_half(panel, row, super, 0, d);
    Base::set_half(panel, row, super, 1, dmin);
  }
};

template <class V>
struct PanelQ4_K : PanelWithMins<V, kNibbleBytes<V>> {
  using Block = BlockQ4_K;
  static constexpr bool kIsNibbles = true;
  static constexpr int kMost = 15;
  static typename V::I bytes(const uint8_t* block, int g) { return get_nibbles<V>(block, g); }
  static void put(uint8_t* panel, int64_t row, int64_t super, const Block& block) {
    for (int g = 0; g < 8; ++g) {
      uint8_t q[32];
      for (int j = 0; j < 32; ++j) q[j] = block.qs[g / 2 * 32 + j] >> g % 2 * 4 & 15;
      put_nibbles<V>(PanelQ4_K::block(panel, super * 8 + g), row, q);
    }
    PanelQ4_K::put_scales(panel, row, super, block.scales, block.d, block.dmin);
  }
};

template <class V>
struct PanelQ5_K : PanelWithMins<V, kNibbleBytes<V> + kBitBytes<V>> {
  using Block = BlockQ5_K;
  static constexpr int kMost = 31;
  static typename V::I bytes(const uint8_t* block, int g) { return get_five_bits<V>(block, g); }
  static void put(uint8_t* panel, int64_t row, int64_t super, const Block& block) {
    for (int g = 0; g < 8; ++g) {
      uint8_t* bytes = PanelQ5_K::block(panel, super * 8 + g);
      uint8_t q[32];
      uint8_t fifth[32];
      for (int j = 0; j < 32; ++j) {
        q[j] = block.qs[g / 2 * 32 + j] >> g % 2 * 4 & 15;
        fifth[j] = block.qh[j] >> g & 1;
      }
      put_bits<V>(bytes, row, fifth);
      put_nibbles<V>(bytes + kBitBytes<V>, row, q);
    }
    PanelQ5_K::put_scales(panel, row, super, block.scales, block.d, block.dmin);
  }
};

template <class V>
struct PanelQ6_K : SuperBlockPanel<V, kNibbleBytes<V> + kPairBytes<V>, 16 * V::kLanes, 1> {
  using Block = BlockQ6_K;
  static constexpr int kGroup = 16, kZero = 32, kOffset = stored_offset<V>(kZero), kMost = 63;
  static constexpr bool kHasMin = false;
  static typename V::I bytes(const uint8_t* block, int g) {
    return move_bytes<V, kOffset - kZero>(
        V::or_i32(get_nibbles<V>(block + kPairBytes<V>, g), get_pairs<V, 4>(block, g)));
  }
  struct Scales {
    const uint8_t* numbers;
    typename V::F d;
    void load(const uint8_t* panel, int64_t, int64_t b) {
      numbers = PanelQ6_K::scales_of(panel, b);
      d = PanelQ6_K::half(numbers, 0);
    }
    typename V::F scale(int64_t j, int i) const {
      return V::mul(d, V::to_float(V::load_i8(numbers + (j * 2 + i) * V::kLanes)));
    }
  };
  static void put(uint8_t* panel, int64_t row, int64_t super, const Block& block) {
    for (int g = 0; g < 8; ++g) {
      uint8_t* bytes = PanelQ6_K::block(panel, super * 8 + g);
      uint8_t low[32];
      uint8_t high[32];
      for (int j = 0; j < 32; ++j) {
        low[j] = block.ql[g / 4 * 64 + g % 2 * 32 + j] >> g % 4 / 2 * 4 & 15;
        high[j] = block.qh[g / 4 * 32 + j] >> g % 4 * 2 & 3;
      }
      put_pairs<V>(bytes, row, high);
      put_nibbles<V>(bytes + kPairBytes<V>, row, low);
    }
    uint8_t* scales = PanelQ6_K::scales_of_super(panel, super);
    for (int g = 0; g < 16; ++g) scales[g * V::kLanes + row] = static_cast<uint8_t>(block.scales[g]);
    PanelQ6_K::set_half(panel, row, super, 0, block.d);
  }
};

template <class V>
struct PanelQ3_K : SuperBlockPanel<V, kPairBytes<V> + kBitBytes<V>, kSixBitBytes<V>, 1> {
  using Block = BlockQ3_K;
  static constexpr int kGroup = 16, kZero = 4, kOffset = stored_offset<V>(kZero), kMost = 7;
  static constexpr bool kHasMin = false;
  static typename V::I bytes(const uint8_t* block, int g) {
    return move_bytes<V, kOffset - kZero>(
        V::or_i32(get_bits<V, 2>(block, g), get_pairs<V>(block + kBitBytes<V>, g)));
  }
  struct Scales {
    alignas(64) uint8_t numbers[16 * V::kLanes];
    typename V::F d;
    void load(const uint8_t* panel, int64_t, int64_t b) {
      const uint8_t* scales = PanelQ3_K::scales_of(panel, b);
      get_six_bits<V>(scales, numbers);
      d = PanelQ3_K::half(scales, 0);
    }
    typename V::F scale(int64_t j, int i) const {
      const typename V::I number = V::load_u8(numbers + (j * 2 + i) * V::kLanes);
      return V::mul(d, V::sub(V::to_float(number), V::set(32.0f)));
    }
  };
  static void put(uint8_t* panel, int64_t row, int64_t super, const Block& block) {
    for (int g = 0; g < 8; ++g) {
      uint8_t* bytes = PanelQ3_K::block(panel, super * 8 + g);
      uint8_t low[32];
      uint8_t high[32];
      for (int j = 0; j < 32; ++j) {
        low[j] = block.qs[g / 4 * 32 + j] >> g % 4 * 2 & 3;
        high[j] = block.hmask[j] >> g & 1;
      }
      put_bits<V>(bytes, row, high);
      put_pairs<V>(bytes + kBitBytes<V>, row, low);
    }
    for (int g = 0; g < 16; ++g) {
      const int low = g < 8 ? block.scales[g] & 15 : block.scales[g - 8] >> 4;
      const int high = block.scales[8 + g % 4] >> g / 4 * 2 & 3;
      put_six_bits<V>(PanelQ3_K::scales_of_super(panel, super), row, g, low | high << 4);
    }
    PanelQ3_K::set_half(panel, row, super, 0, block.d);
  }
};

template <class V>
struct PanelQ2_K : SuperBlockPanel<V, kPairBytes<V>, 16 * V::kLanes, 2> {
  using Block = BlockQ2_K;
  static constexpr int kGroup = 16, kOffset = 0, kMost = 3;
  static constexpr bool kHasMin = true;
  static typename V::I bytes(const uint8_t* block, int g) { return get_pairs<V>(block, g); }
  struct Scales {
    const uint8_t* numbers;  // scale in the low nibble, minimum in the high one
    typename V::F d, minus_dmin;
    void load(const uint8_t* panel, int64_t, int64_t b) {
      numbers = PanelQ2_K::scales_of(panel, b);
      d = PanelQ2_K::half(numbers, 0);
      minus_dmin = V::sub(V::zero(), PanelQ2_K::half(numbers, 1));
    }
    typename V::F scale(int64_t j, int i) const {
      return V::mul(d, V::to_float(V::and_i32(both(j, i), V::set_i32(15))));
    }
    typename V::F min(int64_t j, int i) const {
      return V::mul(minus_dmin, V::to_float(V::shift_right_u32(both(j, i), 4)));
    }

   private:
    typename V::I both(int64_t j, int i) const { return V::load_u8(numbers + (j * 2 + i) * V::kLanes); }
  };
  static void put(uint8_t* panel, int64_t row, int64_t super, const Block& block) {
    for (int g = 0; g < 8; ++g) {
      uint8_t q[32];
      for (int j = 0; j < 32; ++j) q[j] = block.qs[g / 4 * 32 + j] >> g % 4 * 2 & 3;
      put_pairs<V>(PanelQ2_K::block(panel, super * 8 + g), row, q);
    }
    uint8_t* scales = PanelQ2_K::scales_of_super(panel, super);
    for (int g = 0; g < 16; ++g) scales[g * V::kLanes + row] = block.scales[g];
    PanelQ2_K::set_half(panel, row, super, 0, block.d);
    PanelQ2_K::set_half(panel, row, super, 1, block.dmin);
  }
};

// Its eight scales: the low four bits of scales j and 4 + j in a row of bytes, then the high two of scales j,
// 2 + j, 4 + j and 6 + j.
template <class V>
struct PanelIQ4_XS : SuperBlockPanel<V, kNibbleBytes<V>, 6 * V::kLanes, 1> {
  using Block = BlockIQ4_XS;
  static constexpr int kGroup = 32, kOffset = stored_offset<V>(128);
  static constexpr bool kHasMin = false;
  static typename V::I bytes(const uint8_t* block, int g) {
    return get_codebook<V, kOffset>(block, g, kIq4Values);
  }
  struct Scales {
    const uint8_t* numbers;
    typename V::F d;
    void load(const uint8_t* panel, int64_t, int64_t b) {
      numbers = PanelIQ4_XS::scales_of(panel, b);
      d = PanelIQ4_XS::half(numbers, 0);
    }
    typename V::F scale(int64_t j, int) const {
      const typename V::I low = bits(j % 4, static_cast<int>(j / 4 * 4), 15);
      const typename V::I high = bits(4 + j % 2, static_cast<int>(j / 2 * 2), 3);
      const typename V::I scale = V::or_i32(low, V::shift_left_u32(high, 4));
      return V::mul(d, V::sub(V::to_float(scale), V::set(32.0f)));
    }

   private:
    typename V::I bits(int64_t i, int shift, int mask) const {
      return V::and_i32(V::shift_right_u32(V::load_u8(numbers + i * V::kLanes), shift), V::set_i32(mask));
    }
  };
  static void put(uint8_t* panel, int64_t row, int64_t super, const Block& block) {
    uint8_t* scales = PanelIQ4_XS::scales_of_super(panel, super);
    for (int g = 0; g < 8; ++g) {
      uint8_t q[32];
      take_nibbles(block.qs + g * 16, q);
      put_nibbles<V>(PanelIQ4_XS::block(panel, super * 8 + g), row, q);
      uint8_t& low = scales[g % 4 * V::kLanes + row];
      uint8_t& high = scales[(4 + g % 2) * V::kLanes + row];
      low = static_cast<uint8_t>(low | (block.scales_l[g / 2] >> g % 2 * 4 & 15) << g / 4 * 4);
      high = static_cast<uint8_t>(high | (block.scales_h >> 2 * g & 3) << g / 2 * 2);
    }
    PanelIQ4_XS::set_half(panel, row, super, 0, block.d);
  }
};

}  // namespace
}  // namespace inferno::kernels
