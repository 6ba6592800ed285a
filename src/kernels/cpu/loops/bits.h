// How panels keep fewer than eight bits: for the eight vectors that each block of 32 elements is
// (Products::place())
//   four bits  four vectors: vector g in their low nibbles, vector 4 + g in the high ones
//   two bits   two vectors: vector g in the bit pairs g / 2 of vector g % 2
//   one bit    one vector: vector g in bit g of each byte; or, where V has select_bytes() (masks of bytes),
//              vector g in the bits from 4 g L on, where L = V::kLanes
// put_… write a row's block of values q[32] where all bits are 0 before; get_… give vector g, one value in a
// byte, its lowest bit as bit kBit.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/cpu/loops/panel_int8.h"

namespace inferno::kernels {
namespace {

template <class V>
constexpr int64_t kNibbleBytes = 16 * V::kLanes;
template <class V>
constexpr int64_t kPairBytes = 8 * V::kLanes;
template <class V>
constexpr int64_t kBitBytes = 4 * V::kLanes;

// Four bytes at once.
inline uint32_t load_four(const uint8_t* bytes) {
  uint32_t four;
  std::memcpy(&four, bytes, sizeof four);
  return four;
}
inline void store_four(uint8_t* bytes, uint32_t four) {
  std::memcpy(bytes, &four, sizeof four);
}

// Field i of each byte, kWidth bits wide, with its lowest bit as bit kBit. Inlined, as get_bits() and what
// calls it are, so that i is a constant in loops that are unrolled: g++ 12 would leave one function that
// looks.
template <class V, int kWidth, int kBit, int kLast = 8 / kWidth - 1>
[[gnu::always_inline]] inline typename V::I field_at(typename V::I bytes, int i) {
  if constexpr (kLast > 0) {
    if (i < kLast) return field_at<V, kWidth, kBit, kLast - 1>(bytes, i);
  }
  constexpr int kUp = kBit - kLast * kWidth, kMask = ((1 << kWidth) - 1) << kBit;
  if constexpr (kUp > 0) {
    return V::template byte_field<0, kMask>(V::template shift_left_i16<kUp>(bytes));
  } else {
    return V::template byte_field<-kUp, kMask>(bytes);
  }
}

template <class V>
void put_nibbles(uint8_t* block, int64_t row, const uint8_t* q) {
  for (int64_t i = 0; i < 16; i += 4)
    store_four(block + Products<V>::place(row, i), load_four(q + i) | load_four(q + 16 + i) << 4);
}

template <class V>
typename V::I get_nibbles(const uint8_t* block, int g) {
  return field_at<V, 4, 0>(V::load_bytes(block + g % 4 * 4 * V::kLanes), g / 4);
}

template <class V>
void put_pairs(uint8_t* block, int64_t row, const uint8_t* q) {
  constexpr int64_t kVector = 4 * V::kLanes;
  for (int64_t i = 0; i < 32; i += 4) {
    const int64_t place = Products<V>::place(row, i);
    const int64_t g = place / kVector;
    uint8_t* four = block + g % 2 * kVector + place % kVector;
    store_four(four, load_four(four) | load_four(q + i) << g / 2 * 2);
  }
}

// The pair in bits kBit and kBit + 1.
template <class V, int kBit = 0>
typename V::I get_pairs(const uint8_t* block, int g) {
  return field_at<V, 2, kBit>(V::load_bytes(block + g % 2 * 4 * V::kLanes), g / 2);
}

template <class V>
constexpr bool has_byte_masks() {
  return requires {
    V::select_bytes(nullptr, 0);
  };
}

template <class V>
void put_bits(uint8_t* block, int64_t row, const uint8_t* q) {
  constexpr int64_t kVector = 4 * V::kLanes;
  for (int64_t i = 0; i < 32; i += 4) {
    const int64_t place = Products<V>::place(row, i);
    if constexpr (has_byte_masks<V>()) {
      const int bits = q[i] | q[i + 1] << 1 | q[i + 2] << 2 | q[i + 3] << 3;
      uint8_t& byte = block[place / 8];
      byte = static_cast<uint8_t>(byte | bits << place % 8);
    } else {
      uint8_t* four = block + place % kVector;
      store_four(four, load_four(four) | load_four(q + i) << place / kVector);
    }
  }
}

// The bit as bit kBit.
template <class V, int kBit>
[[gnu::always_inline]] inline typename V::I get_bits(const uint8_t* block, int g) {
  if constexpr (has_byte_masks<V>()) {
    return V::select_bytes(block + g * V::kLanes / 2, 1 << kBit);
  } else {
    return field_at<V, 1, kBit>(V::load_bytes(block), g);
  }
}

// Sixteen six-bit numbers of each row, the scales of a super-block, as four vectors of four numbers: the low
// four bits of vector v and of vector 2 + v in a vector, then the high two of all four in one.
template <class V>
constexpr int64_t kSixBitBytes = 12 * V::kLanes;

template <class V>
void put_six_bits(uint8_t* numbers, int64_t row, int64_t i, int value) {
  const int64_t place = i % 4 * V::kLanes + row;
  uint8_t& low = numbers[i / 4 % 2 * 4 * V::kLanes + place];
  uint8_t& high = numbers[8 * V::kLanes + place];
  low = static_cast<uint8_t>(low | (value & 15) << i / 8 * 4);
  high = static_cast<uint8_t>(high | value >> 4 << i / 4 * 2);
}

// A byte each: (16, kLanes).
template <class V>
void get_six_bits(const uint8_t* numbers, uint8_t* bytes) {
  using I = typename V::I;
  constexpr int64_t kVector = 4 * V::kLanes;
  const I high = V::load_bytes(numbers + 2 * kVector);
  for (int64_t v = 0; v < 2; ++v) {
    const I low = V::load_bytes(numbers + v * kVector);
    const I first = v == 0 ? V::template byte_field<0, 3>(high) : V::template byte_field<2, 3>(high);
    const I second = v == 0 ? V::template byte_field<4, 3>(high) : V::template byte_field<6, 3>(high);
    V::store_bytes(bytes + v * kVector,
                   V::or_i32(V::template byte_field<0, 15>(low), V::template shift_left_i16<4>(first)));
    V::store_bytes(bytes + (2 + v) * kVector,
                   V::or_i32(V::template byte_field<4, 15>(low), V::template shift_left_i16<4>(second)));
  }
}

template <class Block>
Block read_block(const uint8_t* w, int64_t i) {
  Block block;
  std::memcpy(&block, w + i * static_cast<int64_t>(sizeof block), sizeof block);
  return block;
}

template <class V>
void put_half(uint8_t* scales, int64_t i, int64_t row, uint16_t half) {
  std::memcpy(scales + (i * V::kLanes + row) * 2, &half, 2);
}

template <class V>
typename V::F get_half(const uint8_t* scales, int64_t i) {
  return V::load_f16(reinterpret_cast<const uint16_t*>(scales) + i * V::kLanes);
}

// pack() of a format whose put() writes one of the file's blocks into a panel of zeros.
template <class V, class Format>
void pack_blocks(const uint8_t* w, int64_t stride, int64_t n_rows, int64_t k, uint8_t* panel) {
  using Block = typename Format::Block;
  std::memset(panel, 0, static_cast<size_t>(Format::panel_bytes(k)));
  for (int64_t row = 0; row < n_rows; ++row) {
    for (int64_t i = 0; i < k / Format::kBlockElements; ++i) {
      Format::put(panel, row, i, read_block<Block>(w + row * stride, i));
    }
  }
}

}  // namespace
}  // namespace inferno::kernels
