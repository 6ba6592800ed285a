// How quantized weights of a panel lie in memory: as one stream, read from its beginning to its end.
#pragma once

#include <cstdint>
#include <cstring>

namespace inferno::kernels {
namespace {

// Blocks of 32 elements of every row in kBytes, of which kUnit share kScaleBytes of scales and whatever else
// there is. Runs of as many units as fill cache lines: the scales of all of them, then their blocks. So lines
// are read in the order in which they lie, and the processor foresees them. As many bytes as in the file but
// where the last run is not whole.
template <int64_t kBytes, int64_t kUnit, int64_t kScaleBytes>
struct StreamedPanel {
  static constexpr int64_t kUnitBlocks = kUnit;

  static int64_t panel_bytes(int64_t k) {
    const int64_t nb = k / 32;
    const int64_t rest = nb % kRun == 0 ? 0 : kRunScales + nb % kRun * kBytes;
    return (nb / kRun * kRunBytes + rest + 63) / 64 * 64;
  }
  template <class Byte>
  static Byte* block(Byte* panel, int64_t b) {
    return panel + b / kRun * kRunBytes + kRunScales + b % kRun * kBytes;
  }
  // Of the unit that block b lies in.
  template <class Byte>
  static Byte* scales_of(Byte* panel, int64_t b) {
    return panel + b / kRun * kRunBytes + b % kRun / kUnit * kScaleBytes;
  }
  // For whoever writes everything else: what is there only because the last run is not whole.
  static void zero_padding(uint8_t* panel, int64_t k) {
    const int64_t nb = k / 32;
    if (nb % kRun == 0) return;
    std::memset(scales_of(panel, nb / kRun * kRun), 0, kRunScales);
    uint8_t* end = block(panel, nb);
    std::memset(end, 0, static_cast<size_t>(panel + panel_bytes(k) - end));
  }

 private:
  static constexpr int64_t kUnitBytes = kUnit * kBytes + kScaleBytes;
  static constexpr int64_t kPowerOfTwo = kUnitBytes & -kUnitBytes;  // the largest that divides it
  static constexpr int64_t kUnitsOfRun = kPowerOfTwo < 64 ? 64 / kPowerOfTwo : 1;
  static constexpr int64_t kRun = kUnitsOfRun * kUnit;  // in blocks
  static constexpr int64_t kRunScales = kUnitsOfRun * kScaleBytes;
  static constexpr int64_t kRunBytes = kUnitsOfRun * kUnitBytes;
};

}  // namespace
}  // namespace inferno::kernels
