// How panels keep fewer than eight bits: for the eight vectors that each block of 32 elements is
// (Products::place())
//   four bits  four vectors: vector g in their low nibbles, vector 4 + g in the high ones
//   two bits   two vectors: vector g in the bit pairs g / 2 of vector g % 2
//   one bit    vector g in the bits from 4 g L on, where L = V::kLanes
// put_… write a row's block of values q[32] where all bits are 0 before; get_… give vector g, one value in a
// byte.
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

template <class V>
void put_nibbles(uint8_t* block, int64_t row, const uint8_t* q) {
  for (int64_t i = 0; i < 16; i += 4)
    store_four(block + Products<V>::place(row, i), load_four(q + i) | load_four(q + 16 + i) << 4);
}

template <class V>
typename V::I get_nibbles(const uint8_t* block, int g) {
  const typename V::I bytes = V::load_bytes(block + g % 4 * 4 * V::kLanes);
  return g < 4 ? V::template byte_field<0, 15>(bytes) : V::template byte_field<4, 15>(bytes);
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

template <class V>
typename V::I get_pairs(const uint8_t* block, int g) {
  const typename V::I bytes = V::load_bytes(block + g % 2 * 4 * V::kLanes);
  switch (g / 2) {
    case 0:
      return V::template byte_field<0, 3>(bytes);
    case 1:
      return V::template byte_field<2, 3>(bytes);
    case 2:
      return V::template byte_field<4, 3>(bytes);
    default:
      return V::template byte_field<6, 3>(bytes);
  }
}

template <class V>
void put_bits(uint8_t* block, int64_t row, const uint8_t* q) {
  for (int64_t i = 0; i < 32; i += 4) {
    const int bits = q[i] | q[i + 1] << 1 | q[i + 2] << 2 | q[i + 3] << 3;
    const int64_t place = Products<V>::place(row, i);
    uint8_t& byte = block[place / 8];
    byte = static_cast<uint8_t>(byte | bits << place % 8);
  }
}

// `value` in the bytes whose bit is 1, else 0.
template <class V>
typename V::I get_bits(const uint8_t* block, int g, int8_t value) {
  return V::select_bytes(block + g * V::kLanes / 2, value);
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
