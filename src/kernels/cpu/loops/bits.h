// How panels keep fewer than eight bits: for each block of 32 elements (L = V::kLanes rows)
//   four bits  (4, L, 4) bytes: elements 4 g .. 4 g + 3 in the low nibbles of quad g, those 16 later in the
//   high two bits   (2, L, 4) bytes: quad g in the bit pairs g % 4 of quad g / 4 one bit    (8, L, 4) bits:
//   quad after quad, a row's four elements side by side
// put_… write a row's block of values q[32]; get_… give quad g of all rows, one value in a byte.
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

template <class V>
void put_nibbles(uint8_t* block, int64_t row, const uint8_t* q) {
  for (int64_t j = 0; j < 4; ++j) {
    for (int64_t i = 0; i < 4; ++i) {
      block[(j * V::kLanes + row) * 4 + i] = static_cast<uint8_t>(q[4 * j + i] | q[16 + 4 * j + i] << 4);
    }
  }
}

template <class V>
typename V::I get_nibbles(const uint8_t* block, int g) {
  const typename V::I bytes = V::load_bytes(block + g % 4 * 4 * V::kLanes);
  return V::and_bytes(g < 4 ? bytes : V::template shift_right_i16<4>(bytes), 0x0f);
}

template <class V>
void put_pairs(uint8_t* block, int64_t row, const uint8_t* q) {
  for (int64_t h = 0; h < 2; ++h) {
    for (int64_t i = 0; i < 4; ++i) {
      const uint8_t* first = q + h * 16 + i;
      block[(h * V::kLanes + row) * 4 + i] =
          static_cast<uint8_t>(first[0] | first[4] << 2 | first[8] << 4 | first[12] << 6);
    }
  }
}

template <class V>
typename V::I get_pairs(const uint8_t* block, int g) {
  const typename V::I bytes = V::load_bytes(block + g / 4 * 4 * V::kLanes);
  switch (g % 4) {
    case 0:
      return V::and_bytes(bytes, 3);
    case 1:
      return V::and_bytes(V::template shift_right_i16<2>(bytes), 3);
    case 2:
      return V::and_bytes(V::template shift_right_i16<4>(bytes), 3);
    default:
      return V::and_bytes(V::template shift_right_i16<6>(bytes), 3);
  }
}

// Where all bits are 0 before.
template <class V>
void put_bits(uint8_t* block, int64_t row, const uint8_t* q) {
  for (int64_t g = 0; g < kQuads; ++g) {
    const int bits = q[4 * g] | q[4 * g + 1] << 1 | q[4 * g + 2] << 2 | q[4 * g + 3] << 3;
    uint8_t& byte = block[g * V::kLanes / 2 + row / 2];
    byte = static_cast<uint8_t>(byte | bits << row % 2 * 4);
  }
}

// `value` in the bytes whose bit is 1, else 0.
template <class V>
typename V::I get_bits(const uint8_t* block, int g, int8_t value) {
  return V::select_bytes(block + g * V::kLanes / 2, value);
}

// Six-bit numbers of a row's super-block, n of them: n / 2 rows of low nibbles (two numbers a byte), then n /
// 4 rows of high bit pairs (four numbers a byte).
template <class V>
constexpr int64_t six_bit_bytes(int64_t n) {
  return (n / 2 + n / 4) * V::kLanes;
}

template <class V>
void put_six_bits(uint8_t* numbers, int64_t n, int64_t row, int64_t i, int value) {
  uint8_t& low = numbers[i / 2 * V::kLanes + row];
  uint8_t& high = numbers[(n / 2 + i / 4) * V::kLanes + row];
  low = static_cast<uint8_t>(low | (value & 15) << i % 2 * 4);
  high = static_cast<uint8_t>(high | value >> 4 << i % 4 * 2);
}

template <class V>
typename V::I get_six_bits(const uint8_t* numbers, int64_t n, int64_t i) {
  using I = typename V::I;
  const I low = V::shift_right_u32(V::load_u8(numbers + i / 2 * V::kLanes), static_cast<int>(i % 2 * 4));
  const I high =
      V::shift_right_u32(V::load_u8(numbers + (n / 2 + i / 4) * V::kLanes), static_cast<int>(i % 4 * 2));
  return V::or_i32(V::and_i32(low, V::set_i32(15)), V::shift_left_u32(V::and_i32(high, V::set_i32(3)), 4));
}

// What bytes() of a format gives from values 0 … that stand for value - offset: as they are where weights are
// unsigned, else shifted into place.
template <class V, int kOffset>
typename V::I offset_bytes(typename V::I q) {
  return V::kUnsignedWeights || kOffset == 0 ? q : V::sub_bytes(q, kOffset);
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

constexpr int64_t round_up_64(int64_t bytes) {
  return (bytes + 63) / 64 * 64;
}

// pack() of a format whose put() writes one of the file's blocks into a panel of zeros.
template <class V, class Format>
void pack_blocks(const uint8_t* w, int64_t stride, int64_t n_rows, int64_t k, uint8_t* panel) {
  using Block = typename Format::Block;
  std::memset(panel, 0, static_cast<size_t>(Format::panel_bytes(k)));
  for (int64_t row = 0; row < n_rows; ++row) {
    for (int64_t i = 0; i < k / Format::kBlockElements; ++i) {
      Format::put(panel, k / kBlock, row, i, read_block<Block>(w + row * stride, i));
    }
  }
}

}  // namespace
}  // namespace inferno::kernels
