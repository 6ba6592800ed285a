// Panels of bfloat16 weights in 12 bits each (loops/packed_bf16.h, whose pack() makes them), as the tiles
// that products of 16-bit numbers take: what the panel had before, bit for bit (but for -0), escapes in
// their places and rows in their own size. So sums are those of panels in 16 bits.
#pragma once

#include "kernels/cpu/amx/sixteen_bit_products.h"
#include "kernels/cpu/avx512/vector.h"
#include "kernels/cpu/loops/packed_bf16.h"

namespace inferno::kernels {
namespace {

class PackedTiles {
 public:
  using Packed = PackedBf16<Avx512Vector>;
  static constexpr int64_t kElements = kTileElements;
  static constexpr int64_t kGroups = kElements / Packed::kGroup;  // in a tile
  static constexpr int64_t kGroupLines = 16 / kGroups;

  PackedTiles(const uint8_t* panel, int64_t k) : panel_(panel), k_(k), escape_(Packed::escapes(panel, k)) {
    const typename Packed::Header& header = Packed::header(panel);
    const int64_t most = Packed::most_escapes(k);
    escape_end_ = escape_ + (header.n_escapes < most ? header.n_escapes : most);
    upper_ = _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(header.upper)));
    const __m128i powers = _mm_loadu_si128(reinterpret_cast<const __m128i*>(header.power));
    has_powers_ = _mm_test_epi8_mask(powers, powers) != 0;
    powers_ = in_order_of_bytes(powers);
  }

  // Tile `block`, 1024 bytes. Blocks come in order, from the first one on.
  void unpack(int64_t block, uint8_t* tile) {
    if (has_powers_) [[unlikely]] {
      unpack_groups<true>(block, tile);
    } else {
      unpack_groups<false>(block, tile);
    }
    // Panels may come from a file whose bytes nobody has checked: what is out of order is left out.
    for (; escape_ != escape_end_ && escape_->at / (16 * kElements) <= block; ++escape_) {
      const int64_t j = escape_->at / 16, row = escape_->at % 16;
      if (j / kElements != block) continue;
      std::memcpy(tile + j % kElements / 2 * kTileLine + row * 4 + j % 2 * 2, &escape_->value, 2);
    }
    written_for_tiles(tile);
  }

 private:
  // A byte for each row, where the panel's bytes of that row lie.
  static __m512i in_order_of_bytes(__m128i rows) {
    const __m512i all = _mm512_broadcast_i32x4(rows);
    alignas(64) uint8_t row_of[64];
    for (int at = 0; at < 64; ++at) row_of[at] = static_cast<uint8_t>(at / 16 * 4 + at % 8 / 2);
    return _mm512_shuffle_epi8(all, _mm512_load_si512(row_of));
  }

  template <bool kPowers>
  void unpack_groups(int64_t block, uint8_t* tile) const {
    const int64_t first = block * kGroups;
    const int64_t left = Packed::n_groups(k_) - first;
    if (left >= kGroups) {
#pragma GCC unroll 4
      for (int64_t g = 0; g < kGroups; ++g)
        unpack_group<kPowers>(first + g, tile + g * kGroupLines * kTileLine);
      return;
    }
    for (int64_t g = 0; g < left; ++g) unpack_group<kPowers>(first + g, tile + g * kGroupLines * kTileLine);
    for (int64_t at = left * kGroupLines * kTileLine; at < kTileBytes; at += kTileLine)
      _mm512_store_si512(tile + at, _mm512_setzero_si512());
  }

  template <bool kPowers>
  void unpack_group(int64_t g, uint8_t* lines) const {
    const uint8_t* group = Packed::group(panel_, g);
    const __m512i codes = _mm512_loadu_si512(group);
    const __m512i nibble = _mm512_set1_epi8(15);
    unpack_four<kPowers>(_mm512_and_si512(codes, nibble), group + 64, lines);
    unpack_four<kPowers>(_mm512_and_si512(_mm512_srli_epi16(codes, 4), nibble), group + 128,
                         lines + kGroupLines / 2 * kTileLine);
  }

  template <bool kPowers>
  void unpack_four(__m512i codes, const uint8_t* lower_bytes, uint8_t* lines) const {
    const __m512i lower = _mm512_loadu_si512(lower_bytes);
    __m512i upper = _mm512_shuffle_epi8(upper_, codes);
    if constexpr (kPowers)
      upper = _mm512_mask_add_epi8(upper, _mm512_test_epi8_mask(codes, codes), upper, powers_);
    _mm512_store_si512(lines, _mm512_unpacklo_epi8(lower, upper));
    _mm512_store_si512(lines + kTileLine, _mm512_unpackhi_epi8(lower, upper));
  }

  const uint8_t* panel_;
  int64_t k_;
  const typename Packed::Escape* escape_;
  const typename Packed::Escape* escape_end_;
  __m512i upper_, powers_;
  bool has_powers_;
};

// Tiles of a panel that are unpacked one ahead of what is asked for, so that what was stored is in the cache
// when it is loaded. The last kRoom are there.
template <int64_t kRoom>
class TilesAhead {
 public:
  TilesAhead(const uint8_t* panel, int64_t k, uint8_t* memory)
      : tiles_(panel, k), n_((k + kTileElements - 1) / kTileElements), memory_(memory) {
    tiles_.unpack(0, at(0));
  }

  const uint8_t* tile(int64_t block) {
    if (block + 1 < n_) tiles_.unpack(block + 1, at(block + 1));
    return at(block);
  }

 private:
  uint8_t* at(int64_t block) const { return memory_ + block % kRoom * kTileBytes; }

  PackedTiles tiles_;
  int64_t n_;
  uint8_t* memory_;
};

struct PackedPanels {
  static constexpr int64_t kRing = 4;
  static constexpr int64_t kAll = int64_t{1} << 62;

  static int64_t tile_bytes(int64_t k) {
    const int64_t n = (k + kTileElements - 1) / kTileElements;
    return (n < kRing ? kRing : n) * kTileBytes;
  }
  static int64_t panel_bytes(int64_t k) { return PackedTiles::Packed::panel_bytes(k); }
  static int64_t scratch_bytes(int64_t k) { return 2 * tile_bytes(k); }
  static TilesAhead<kRing> once(const uint8_t* panel, int64_t k, uint8_t* scratch, int64_t number) {
    return {panel, k, scratch + number * kRing * kTileBytes};
  }
  static TilesAhead<kAll> first(const uint8_t* panel, int64_t k, uint8_t* scratch, int64_t number) {
    return {panel, k, scratch + number * tile_bytes(k)};
  }
  static TilesInPlace again(const uint8_t*, int64_t k, uint8_t* scratch, int64_t number) {
    return {scratch + number * tile_bytes(k)};
  }
};

}  // namespace
}  // namespace inferno::kernels
