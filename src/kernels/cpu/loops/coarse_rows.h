// Coarse copies of an LM head's rows (backend/cpu/head_screen.h).
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/cpu/loops/panel_float.h"
#include "kernels/cpu/params.h"

namespace inferno::kernels {
namespace {

template <class V>
struct CoarseSquares {
  typename V::F lost = V::zero(), norm = V::zero();
};

// kBlocks blocks from this one on, at most V::kLanes: what is one number of a block is a lane.
template <class V, class Element, int kBlocks>
void coarse_blocks(const uint8_t* w, int64_t block, BlockQ4_0* out, CoarseSquares<V>& squares) {
  using F = typename V::F;
  using I = typename V::I;
  constexpr int kVectors = static_cast<int>(kBlock32 / V::kLanes);
  const auto load = [&](int b, int i) { return Element::load(w, (block + b) * kVectors + i); };
  I above[V::kLanes], below[V::kLanes];
#pragma GCC unroll 16
  for (int b = 0; b < V::kLanes; ++b) {
    F highest = V::zero(), lowest = V::zero();
    for (int i = 0; b < kBlocks && i < kVectors; ++i) {
      highest = V::max(load(b, i), highest);
      lowest = V::max(V::sub(V::zero(), load(b, i)), lowest);
    }
    above[b] = V::magnitude_bits(highest);
    below[b] = V::magnitude_bits(lowest);
  }
  // The largest by magnitude becomes -8 scales.
  const F highest = V::float_of_bits(V::largest_of_each(above));
  const F lowest = V::float_of_bits(V::largest_of_each(below));
  const F if_above = V::zero_if_less(highest, lowest, highest);
  const F if_below = V::sub(lowest, V::zero_if_less(highest, lowest, lowest));
  uint16_t halves[V::kLanes];
  V::store_f16(halves, V::mul(V::sub(if_below, if_above), V::set(0.125f)), V::kLanes);
  const F scales = V::load_f16(halves);
  float scale[V::kLanes], inverse[V::kLanes];
  V::store(scale, scales);
  V::store(inverse, V::div(V::set(1), scales));  // of 0, any code will do
  const F least = V::set(-8), most = V::set(7);
  for (int b = 0; b < kBlocks; ++b) {
    F codes[kVectors];
#pragma GCC unroll 8
    for (int i = 0; i < kVectors; ++i) {
      const F weights = load(b, i);
      codes[i] = V::round(V::min(V::max(V::mul(weights, V::set(inverse[b])), least), most));  // of a NaN -8
      const F off = V::sub(weights, V::mul(codes[i], V::set(scale[b])));
      squares.lost = V::fma(off, off, squares.lost);
      squares.norm = V::fma(weights, weights, squares.norm);
    }
    // code + 8 in a byte's low nibble, in the high one the other code, the sign of which is turned.
    int8_t bytes[16];
#pragma GCC unroll 4
    for (int i = 0; i < kVectors / 2; ++i) {
      const F low = V::add(codes[i], V::set(8));
      V::store_i8(bytes + i * V::kLanes, V::to_int(V::fma(codes[kVectors / 2 + i], V::set(16), low)));
    }
    uint64_t words[2];
    std::memcpy(words, bytes, sizeof words);
    for (uint64_t& word : words) word ^= 0x8080808080808080;
    out[block + b].d = halves[b];
    std::memcpy(out[block + b].qs, words, sizeof words);
  }
}

// Element: how weights are loaded (panel_float.h).
template <class V, class Element>
void coarse_row(const CoarseRowParams& p) {
  const int64_t n_blocks = p.k / kBlock32;
  CoarseSquares<V> squares;
  int64_t block = 0;
  for (; n_blocks - block >= V::kLanes; block += V::kLanes)
    coarse_blocks<V, Element, V::kLanes>(p.w, block, p.blocks, squares);
  for (; block < n_blocks; ++block) coarse_blocks<V, Element, 1>(p.w, block, p.blocks, squares);
  *p.lost = V::sum(squares.lost);
  *p.norm = V::sum(squares.norm);
}

}  // namespace
}  // namespace inferno::kernels
