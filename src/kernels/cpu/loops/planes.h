// An LM head in two planes: the upper four bits of all its weights, with their scales, panel after panel, and
// then the bits below. The first plane alone gives coarse logits, which tell what need not be read of the
// second (backend/cpu/head_screen.h); both together are the weights, and their products have the same bits as
// those of the type's other panels.
//
// Upper…: the weights as if the bits below were in the middle of what they can be. Whole…: all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/cpu/loops/bits.h"
#include "kernels/cpu/loops/k_quants.h"
#include "kernels/cpu/loops/q8_0.h"
#include "tensor/quant_blocks.h"

namespace inferno::kernels {
namespace {

// Where a panel or a block lies.
struct InPlanes {
  const uint8_t* upper;
  const uint8_t* lower;
};

// What both planes fetch ahead.
template <class UpperFetch, class LowerFetch>
struct FetchOfPlanes {
  UpperFetch upper;
  LowerFetch lower;

  [[gnu::always_inline]] void step() {
    upper.step();
    lower.step();
  }
  void stop() {
    upper.stop();
    lower.stop();
  }
  [[gnu::always_inline]] void begin_step() {
    upper.begin_step();
    if constexpr (LowerFetch::kIsInParts) {
      lower.begin_step();
    } else {
      lower.step();
    }
  }
  [[gnu::always_inline]] void part_of_step() {
    upper.part_of_step();
    if constexpr (LowerFetch::kIsInParts) lower.part_of_step();
  }
};
template <class UpperFetcher, class LowerFetcher>
struct FetcherOfPlanes {
  UpperFetcher upper;
  LowerFetcher lower;

  auto next_tile() {
    return FetchOfPlanes<decltype(upper.next_tile()), decltype(lower.next_tile())>{upper.next_tile(),
                                                                                   lower.next_tile()};
  }
};

// Upper: the format of the first plane. kLowerBytes: of a block in the second.
template <class V, class Upper, int64_t kLowerBytes>
struct Planes {
  static constexpr int64_t kUnitBlocks = Upper::kUnitBlocks;

  static constexpr int64_t upper_bytes(int64_t k) { return Upper::panel_bytes(k); }
  static constexpr int64_t lower_bytes(int64_t k) { return (k / kBlock * kLowerBytes + 63) / 64 * 64; }
  static int64_t panel_bytes(int64_t k) { return upper_bytes(k) + lower_bytes(k); }

  static InPlanes panel(const PanelMatmulParams& p, int64_t i) {
    const int64_t n_panels = (p.m + V::kLanes - 1) / V::kLanes;
    return {p.panels + i * upper_bytes(p.k), p.panels + n_panels * upper_bytes(p.k) + i * lower_bytes(p.k)};
  }
  static InPlanes block(InPlanes panel, int64_t b) {
    return {Upper::block(panel.upper, b), panel.lower + b * kLowerBytes};
  }
  // What comes next is of the same matrix: no other lies in planes. A second plane of two bits a weight is
  // one stream: three more were slower (measured with Q6_K on a Granite Rapids; of four bits the other way
  // round).
  template <class AnyFetcher>
  using LowerFetcher = std::conditional_t<(kLowerBytes < kNibbleBytes<V>), Fetcher, AnyFetcher>;
  template <class AnyFetcher>
  static FetcherOfPlanes<AnyFetcher, LowerFetcher<AnyFetcher>> fetcher(const PanelMatmulParams& p, int64_t i,
                                                                       int64_t n_panels, int64_t n_tiles,
                                                                       int64_t n_steps) {
    const bool is_known = i < p.panel_end || p.next != nullptr;
    const InPlanes next = panel(p, i < p.panel_end || !is_known ? i : (p.next - p.panels) / upper_bytes(p.k));
    return {AnyFetcher(is_known ? next.upper : nullptr, n_panels * upper_bytes(p.k), n_tiles, n_steps),
            LowerFetcher<AnyFetcher>(is_known ? next.lower : nullptr, n_panels * lower_bytes(p.k), n_tiles,
                                     n_steps)};
  }
  template <int kRuns>
  static FetchOfPlanes<LinesAhead<kRuns>, LinesAhead<kRuns>> lines_ahead(const PanelMatmulParams& p,
                                                                         InPlanes first, int64_t n_steps,
                                                                         int64_t ahead) {
    const int64_t upper = upper_bytes(p.k), lower = lower_bytes(p.k);
    return {kernels::lines_ahead<kRuns>(first.upper, p.run_step * upper, upper, n_steps, ahead),
            kernels::lines_ahead<kRuns>(first.lower, p.run_step * lower, lower, n_steps, ahead)};
  }
};

template <class V>
struct UpperQ8_0 : StreamedPanel<V, kNibbleBytes<V>, 1, 2 * V::kLanes> {
  static constexpr int kGroup = 32, kOffset = stored_offset<V>(128);
  static constexpr bool kHasMin = false;
  using Scales = HalfScales<V, UpperQ8_0>;

  // Of vector g, where they are in its bytes.
  static typename V::I upper_halves(const uint8_t* block, int g) {
    const typename V::I both = V::load_bytes(block + g % 4 * 4 * V::kLanes);
    return V::and_i32(g < 4 ? V::template shift_left_i16<4>(both) : both,
                      V::set_i32(static_cast<int32_t>(0xf0f0f0f0)));
  }
  static typename V::I bytes(const uint8_t* block, int g) {
    return V::or_i32(upper_halves(block, g), V::set_i32(0x08080808));
  }
};

template <class V>
struct WholeQ8_0 : Planes<V, UpperQ8_0<V>, kNibbleBytes<V>> {
  using Upper = UpperQ8_0<V>;
  static constexpr int kGroup = 32, kOffset = Upper::kOffset;
  static constexpr bool kHasMin = false;
  // Of the numbers in the planes, 0 .. 15 each: the one of the upper plane that would stand for zero and how
  // much of a weight its unit is; the one of the lower plane that the upper one reckons with.
  static constexpr float kUpperZero = 7.5f, kUpperUnit = 16, kLowerMiddle = 8;
  static typename V::I lower(InPlanes block, int g) { return get_nibbles<V>(block.lower, g); }
  struct Scales : Upper::Scales {
    void load(InPlanes panel, int64_t nb, int64_t b) { Upper::Scales::load(panel.upper, nb, b); }
  };

  static typename V::I bytes(InPlanes block, int g) {
    return V::or_i32(Upper::upper_halves(block.upper, g), lower(block, g));
  }

  static void pack(const uint8_t* w, int64_t stride, int64_t n_rows, int64_t k, uint8_t* panel) {
    Upper::zero_padding(panel, k);
    uint8_t* lower_half = panel + Upper::panel_bytes(k);
    if constexpr (requires { V::transpose_quads; }) {
      if (n_rows == V::kLanes) return pack_all(w, stride, k, panel, lower_half);
    }
    const int64_t nb = k / kBlock;
    constexpr BlockQ8_0 kZeros = {};
    for (int64_t row = 0; row < V::kLanes; ++row) {
      for (int64_t b = 0; b < nb; ++b) {
        const BlockQ8_0 block = row < n_rows ? read_block<BlockQ8_0>(w + row * stride, b) : kZeros;
        uint8_t upper[kBlock];
        uint8_t lower[kBlock];
        for (int64_t i = 0; i < kBlock; ++i) {
          const auto q = static_cast<uint8_t>(block.qs[i] ^ (Upper::kOffset == 128 ? 0x80 : 0));
          upper[i] = q >> 4;
          lower[i] = q & 15;
        }
        put_nibbles<V>(Upper::block(panel, b), row, upper);
        put_nibbles<V>(lower_half + b * kNibbleBytes<V>, row, lower);
        put_half<V>(Upper::scales_of(panel, b), 0, row, block.d);
      }
    }
  }

 private:
  // As many rows as there are lanes: block by block of all.
  static void pack_all(const uint8_t* w, int64_t stride, int64_t k, uint8_t* panel, uint8_t* lower) {
    static_assert(Products<V>::place(1, 4) == place_in_quads<V>(1, 4));
    using I = typename V::I;
    const int64_t nb = k / kBlock;
    const I low = V::set_i32(0x0f0f0f0f);
    const I high = V::set_i32(static_cast<int32_t>(0xf0f0f0f0));
    for (int64_t b = 0; b < nb; ++b, w += sizeof(BlockQ8_0)) {
#pragma GCC unroll 16
      for (int64_t row = 0; row < V::kLanes; ++row)
        std::memcpy(Upper::scales_of(panel, b) + row * 2, w + row * stride + offsetof(BlockQ8_0, d), 2);
      I q[8];
      V::transpose_quads(w + offsetof(BlockQ8_0, qs), stride, q);
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        const I first = move_bytes<V, Upper::kOffset>(q[i]);
        const I second = move_bytes<V, Upper::kOffset>(q[4 + i]);
        V::store_bytes(Upper::block(panel, b) + i * 4 * V::kLanes,
                       V::or_i32(V::template byte_field<4, 15>(first), V::and_i32(second, high)));
        V::store_bytes(
            lower + b * kNibbleBytes<V> + i * 4 * V::kLanes,
            V::or_i32(V::and_i32(first, low), V::template shift_left_i16<4>(V::and_i32(second, low))));
      }
    }
  }
};

// The middle of the four values that two bits can have is 1.5, so these are twice the weights, and their
// scales half of what they are.
template <class V>
struct UpperQ6_K : SuperBlockPanel<V, kNibbleBytes<V>, 16 * V::kLanes, 1> {
  static constexpr int kGroup = 16, kZero = 64, kOffset = stored_offset<V>(kZero);
  static constexpr bool kHasMin = false;

  static typename V::I bytes(const uint8_t* block, int g) {
    const typename V::I upper = V::template shift_left_i16<3>(get_nibbles<V>(block, g));
    return move_bytes<V, kOffset - kZero>(V::or_i32(upper, V::set_i32(0x03030303)));
  }
  struct Scales {
    const uint8_t* numbers;
    typename V::F d;
    void load(const uint8_t* panel, int64_t, int64_t b) {
      numbers = UpperQ6_K::scales_of(panel, b);
      d = V::mul(UpperQ6_K::half(numbers, 0), V::set(0.5f));
    }
    typename V::F scale(int64_t j, int i) const {
      return V::mul(d, V::to_float(V::load_i8(numbers + (j * 2 + i) * V::kLanes)));
    }
  };
};

template <class V>
struct WholeQ6_K : Planes<V, UpperQ6_K<V>, kPairBytes<V>> {
  using Upper = UpperQ6_K<V>;
  using Block = BlockQ6_K;
  static constexpr int kGroup = 16, kZero = 32, kOffset = stored_offset<V>(kZero);
  static constexpr bool kHasMin = false;
  // As in WholeQ8_0, but those of the lower plane are 0 .. 3.
  static constexpr float kUpperZero = 7.625f, kUpperUnit = 4, kLowerMiddle = 1.5f;
  static typename V::I lower(InPlanes block, int g) { return get_pairs<V>(block.lower, g); }

  static typename V::I bytes(InPlanes block, int g) {
    const typename V::I upper = V::template shift_left_i16<2>(get_nibbles<V>(block.upper, g));
    return move_bytes<V, kOffset - kZero>(V::or_i32(upper, lower(block, g)));
  }
  struct Scales {
    const uint8_t* numbers;
    typename V::F d;
    void load(InPlanes panel, int64_t, int64_t b) {
      numbers = Upper::scales_of(panel.upper, b);
      d = Upper::half(numbers, 0);
    }
    typename V::F scale(int64_t j, int i) const {
      return V::mul(d, V::to_float(V::load_i8(numbers + (j * 2 + i) * V::kLanes)));
    }
  };

  static void pack(const uint8_t* w, int64_t stride, int64_t n_rows, int64_t k, uint8_t* panel) {
    std::memset(panel, 0, static_cast<size_t>(WholeQ6_K::panel_bytes(k)));
    for (int64_t row = 0; row < n_rows; ++row) {
      for (int64_t super = 0; super < k / Upper::kBlockElements; ++super)
        put(panel, panel + Upper::panel_bytes(k), row, super, read_block<Block>(w + row * stride, super));
    }
  }

 private:
  static void put(uint8_t* panel, uint8_t* lower_half, int64_t row, int64_t super, const Block& block) {
    for (int g = 0; g < 8; ++g) {
      uint8_t upper[32];
      uint8_t lower[32];
      for (int j = 0; j < 32; ++j) {
        const int low = block.ql[g / 4 * 64 + g % 2 * 32 + j] >> g % 4 / 2 * 4 & 15;
        const int high = block.qh[g / 4 * 32 + j] >> g % 4 * 2 & 3;
        upper[j] = static_cast<uint8_t>(high << 2 | low >> 2);
        lower[j] = low & 3;
      }
      put_nibbles<V>(Upper::block(panel, super * 8 + g), row, upper);
      put_pairs<V>(lower_half + (super * 8 + g) * kPairBytes<V>, row, lower);
    }
    uint8_t* scales = Upper::scales_of_super(panel, super);
    for (int g = 0; g < 16; ++g) scales[g * V::kLanes + row] = static_cast<uint8_t>(block.scales[g]);
    Upper::set_half(panel, row, super, 0, block.d);
  }
};

// Of n numbers whose sum and squares are known, exactly where both fit into a float: the sum of (x -
// middle)^2.
template <class V>
typename V::F squares_about(float middle, int n, typename V::I sum, typename V::I squares) {
  const float about_zero = static_cast<float>(n) * middle * middle;
  return V::fma(V::to_float(sum), V::set(-2 * middle), V::add(V::to_float(squares), V::set(about_zero)));
}

// V has dot products of bytes.
template <class V, class Whole>
void square_norms_of_planes(const PlaneNormsParams& p) {
  using F = typename V::F;
  using I = typename V::I;
  constexpr int kVectors = Whole::kGroup / 4, kGroups = 32 / Whole::kGroup;
  const int64_t nb = p.k / kBlock;
  const InPlanes panel = {p.upper, p.lower};
  const I ones = V::set_i32(0x01010101), none = V::set_i32(0);
  const F unit = V::set(Whole::kUpperUnit * Whole::kUpperUnit);
  F lost = V::zero(), norm = V::zero();
  for (int64_t first = 0; first < nb; first += Whole::kUnitBlocks) {
    typename Whole::Scales scales;
    scales.load(panel, nb, first);
    for (int64_t j = 0; j < Whole::kUnitBlocks; ++j) {
      const InPlanes block = Whole::block(panel, first + j);
#pragma GCC unroll 2
      for (int group = 0; group < kGroups; ++group) {
        I upper_sum = none, upper_squares = none, lower_sum = none, lower_squares = none;
#pragma GCC unroll 8
        for (int g = group * kVectors; g < (group + 1) * kVectors; ++g) {
          const I upper = get_nibbles<V>(block.upper, g), lower = Whole::lower(block, g);
          upper_sum = V::dot(upper_sum, upper, ones);
          upper_squares = V::dot(upper_squares, upper, upper);
          lower_sum = V::dot(lower_sum, lower, ones);
          lower_squares = V::dot(lower_squares, lower, lower);
        }
        const F scale = scales.scale(j, group);
        const F square = V::mul(scale, scale);
        lost = V::fma(square, squares_about<V>(Whole::kLowerMiddle, Whole::kGroup, lower_sum, lower_squares),
                      lost);
        norm = V::fma(V::mul(square, unit),
                      squares_about<V>(Whole::kUpperZero, Whole::kGroup, upper_sum, upper_squares), norm);
      }
    }
  }
  V::store(p.lost, lost);
  V::store(p.norm, norm);
}

}  // namespace
}  // namespace inferno::kernels
