// Q8_0 in a panel (stream.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/cpu/loops/bits.h"
#include "tensor/quant_blocks.h"

namespace inferno::kernels {
namespace {

template <class V>
struct PanelQ8_0 : StreamedPanel<V, kBlock * V::kLanes, 1, 2 * V::kLanes> {
  static constexpr bool kIsBytes = true;  // bytes() are as they lie
  static constexpr int kGroup = 32;
  static constexpr bool kHasMin = false;
  static constexpr int kOffset = stored_offset<V>(128);

  static typename V::I bytes(const uint8_t* block, int g) { return V::load_bytes(block + g * 4 * V::kLanes); }
  struct Scales {
    const uint8_t* d;
    void load(const uint8_t* panel, int64_t, int64_t b) { d = PanelQ8_0::scales_of(panel, b); }
    typename V::F scale(int64_t, int) const { return get_half<V>(d, 0); }
  };

  static void pack(const uint8_t* w, int64_t stride, int64_t n_rows, int64_t k, uint8_t* panel) {
    PanelQ8_0::zero_padding(panel, k);
    if constexpr (requires { V::transpose_quads; }) {
      if (n_rows == V::kLanes) return pack_all(w, stride, k, panel);
    }
    const int64_t nb = k / kBlock;
    constexpr uint32_t kFlip = kOffset == 128 ? 0x80808080u : 0u;
    constexpr BlockQ8_0 kZeros = {};
    // Row by row, as they lie in memory; the panel stays in the cache.
    for (int64_t row = 0; row < V::kLanes; ++row) {
      const bool is_there = row < n_rows;
      const auto* block = is_there ? w + row * stride : reinterpret_cast<const uint8_t*>(&kZeros);
      for (int64_t b = 0; b < nb; ++b) {
        uint8_t* vectors = PanelQ8_0::block(panel, b);
        std::memcpy(PanelQ8_0::scales_of(panel, b) + row * 2, block + offsetof(BlockQ8_0, d), 2);
#pragma GCC unroll 8
        for (int64_t i = 0; i < kBlock; i += 4) {
          uint32_t four;
          std::memcpy(&four, block + offsetof(BlockQ8_0, qs) + i, 4);
          four ^= kFlip;
          std::memcpy(vectors + Products<V>::place(row, i), &four, 4);
        }
        if (is_there) block += sizeof(BlockQ8_0);
      }
    }
  }

 private:
  // As many rows as there are lanes: block by block of all.
  static void pack_all(const uint8_t* w, int64_t stride, int64_t k, uint8_t* panel) {
    static_assert(Products<V>::place(1, 4) == place_in_quads<V>(1, 4));
    const int64_t nb = k / kBlock;
    for (int64_t b = 0; b < nb; ++b, w += sizeof(BlockQ8_0)) {
      uint8_t* scales = PanelQ8_0::scales_of(panel, b);
#pragma GCC unroll 16
      for (int64_t row = 0; row < V::kLanes; ++row)
        std::memcpy(scales + row * 2, w + row * stride + offsetof(BlockQ8_0, d), 2);
      typename V::I quads[8];
      V::transpose_quads(w + offsetof(BlockQ8_0, qs), stride, quads);
      uint8_t* vectors = PanelQ8_0::block(panel, b);
#pragma GCC unroll 8
      for (int i = 0; i < 8; ++i)
        V::store_bytes(vectors + i * 4 * V::kLanes, move_bytes<V, kOffset>(quads[i]));
    }
  }
};

}  // namespace
}  // namespace inferno::kernels
