// How quantized weights of a panel lie in memory: as one stream, read from its beginning to its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace inferno::kernels {
namespace {

constexpr int64_t kBlock = 32;  // elements of a row

// Blocks of every row in kBytes, of which kUnit share kScaleBytes of scales and whatever else there is. Runs
// of as many units as fill vectors of V: the scales of all of them, then their blocks. So whoever goes from
// block to block reads lines in the order in which they lie, and the processor foresees them. As many bytes
// as in the file, but that a last run that is not whole has room for the scales of a whole one.
template <class V, int64_t kBytes, int64_t kUnit, int64_t kScaleBytes>
struct StreamedPanel {
  static constexpr int64_t kUnitBlocks = kUnit;

  static constexpr int64_t panel_bytes(int64_t k) { return (used_bytes(k / kBlock) + 63) / 64 * 64; }
  template <class Byte>
  static Byte* block(Byte* panel, int64_t b) {
    return panel + b * kBytes + (b / kRun + 1) * kRunScales;
  }
  // Of the unit that block b lies in.
  template <class Byte>
  static Byte* scales_of(Byte* panel, int64_t b) {
    return panel + b / kRun * (kRunBytes - kRunScales) + b / kUnit * kScaleBytes;
  }
  // For whoever writes everything else.
  static void zero_padding(uint8_t* panel, int64_t k) {
    const int64_t nb = k / kBlock;
    const int64_t used = used_bytes(nb);
    if (nb % kRun != 0) std::memset(scales_of(panel, nb / kRun * kRun), 0, kRunScales);
    std::memset(panel + used, 0, static_cast<size_t>(panel_bytes(k) - used));
  }

 private:
  static constexpr int64_t kUnitBytes = kUnit * kBytes + kScaleBytes;
  static constexpr int64_t kPowerOfTwo = kUnitBytes & -kUnitBytes;  // the largest that divides it
  static constexpr int64_t kVectorBytes = 4 * V::kLanes;
  static constexpr int64_t kUnitsOfRun = kPowerOfTwo < kVectorBytes ? kVectorBytes / kPowerOfTwo : 1;
  static constexpr int64_t kRun = kUnitsOfRun * kUnit;  // in blocks
  static constexpr int64_t kRunScales = kUnitsOfRun * kScaleBytes;
  static constexpr int64_t kRunBytes = kUnitsOfRun * kUnitBytes;

  static constexpr int64_t used_bytes(int64_t nb) {
    return nb / kRun * kRunBytes + (nb % kRun == 0 ? 0 : kRunScales + nb % kRun * kBytes);
  }
};

}  // namespace
}  // namespace inferno::kernels
