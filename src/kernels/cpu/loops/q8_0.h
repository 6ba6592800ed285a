// Q8_0 in a panel: (nb, 8, rows, 4) bytes, then (nb, rows) scales in float16. As many bytes as in the file.
#pragma once

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
  static constexpr int kOffset = 128;
  static constexpr int64_t kBlockBytes = kBlock * V::kLanes;

  static int64_t panel_bytes(int64_t k) {
    const int64_t nb = k / kBlock;
    return (nb * (kBlockBytes + 2 * V::kLanes) + 63) / 64 * 64;
  }
  static typename V::I bytes(const uint8_t* panel, int64_t, int64_t b, int quad) {
    return V::load_bytes(panel + b * kBlockBytes + quad * 4 * V::kLanes);
  }
  static typename V::F scale(const uint8_t* panel, int64_t nb, int64_t b, int) {
    return V::load_f16(reinterpret_cast<const uint16_t*>(panel + nb * kBlockBytes) + b * V::kLanes);
  }

  static void pack(const uint8_t* w, int64_t stride, int64_t n_rows, int64_t k, uint8_t* panel) {
    const int64_t nb = k / kBlock;
    // Where weights are unsigned, 128 stands for 0.
    constexpr uint32_t kFlip = V::kUnsignedWeights ? 0x80808080u : 0u;
    for (int64_t b = 0; b < nb; ++b) {
      uint8_t* quads = panel + b * kBlockBytes;
      uint8_t* scales = panel + nb * kBlockBytes + b * 2 * V::kLanes;
      for (int64_t row = 0; row < V::kLanes; ++row) {
        BlockQ8_0 block = {};
        if (row < n_rows)
          std::memcpy(&block, w + row * stride + b * static_cast<int64_t>(sizeof block), sizeof block);
        std::memcpy(scales + row * 2, &block.d, 2);
        for (int64_t quad = 0; quad < kQuads; ++quad) {
          uint32_t bytes;
          std::memcpy(&bytes, block.qs + quad * 4, 4);
          bytes ^= kFlip;
          std::memcpy(quads + (quad * V::kLanes + row) * 4, &bytes, 4);
        }
      }
    }
  }
};

}  // namespace
}  // namespace inferno::kernels
