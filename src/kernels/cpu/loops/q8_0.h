// Q8_0 in a panel: groups of blocks whose scales fill 64 bytes, the vectors of each group's blocks
// before its (blocks, rows) scales in float16: one stream through memory. As many bytes as in the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/cpu/loops/panel_int8.h"
#include "tensor/quant_blocks.h"

namespace inferno::kernels {
namespace {

template <class V>
struct PanelQ8_0 {
  static constexpr int kGroup = 32;
  static constexpr bool kHasMin = false;
  static constexpr int kOffset = stored_offset<V>(128);
  static constexpr int64_t kBlockBytes = kBlock * V::kLanes;
  static constexpr int64_t kScaleBytes = 2 * V::kLanes;
  static constexpr int64_t kBlocksPerGroup = 64 / kScaleBytes;
  static constexpr int64_t kGroupBytes = kBlocksPerGroup * kBlockBytes + 64;

  static int64_t panel_bytes(int64_t k) { return (k / kBlock * (kBlockBytes + kScaleBytes) + 63) / 64 * 64; }
  static typename V::I bytes(const uint8_t* panel, int64_t, int64_t b, int g) {
    return V::load_bytes(panel + block_offset(b) + g * 4 * V::kLanes);
  }
  static typename V::F scale(const uint8_t* panel, int64_t nb, int64_t b, int) {
    return V::load_f16(reinterpret_cast<const uint16_t*>(panel + scale_offset(nb, b)));
  }

  static void pack(const uint8_t* w, int64_t stride, int64_t n_rows, int64_t k, uint8_t* panel) {
    const int64_t nb = k / kBlock;
    constexpr uint32_t kFlip = kOffset == 128 ? 0x80808080u : 0u;
    constexpr BlockQ8_0 kZeros = {};
    // Row by row, as they lie in memory; the panel stays in the cache.
    for (int64_t row = 0; row < V::kLanes; ++row) {
      const bool is_there = row < n_rows;
      const auto* block = is_there ? w + row * stride : reinterpret_cast<const uint8_t*>(&kZeros);
      for (int64_t b = 0; b < nb; ++b) {
        uint8_t* vectors = panel + block_offset(b);
        std::memcpy(panel + scale_offset(nb, b) + row * 2, block + offsetof(BlockQ8_0, d), 2);
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
  static int64_t block_offset(int64_t b) {
    return b / kBlocksPerGroup * kGroupBytes + b % kBlocksPerGroup * kBlockBytes;
  }
  // The last group may have fewer blocks.
  static int64_t scale_offset(int64_t nb, int64_t b) {
    const int64_t first = b / kBlocksPerGroup * kBlocksPerGroup;
    const int64_t blocks = nb - first < kBlocksPerGroup ? nb - first : kBlocksPerGroup;
    return first / kBlocksPerGroup * kGroupBytes + blocks * kBlockBytes + b % kBlocksPerGroup * kScaleBytes;
  }
};

}  // namespace
}  // namespace inferno::kernels
