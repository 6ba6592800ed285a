#include "quantize/blocks.h"
#include "quantize/super_block.h"

namespace inferno::quantize {
namespace {

// OCP e2m1 without the sign, doubled: code c stands for kTwiceE2M1[c] / 2.
constexpr std::array<int, 8> kTwiceE2M1 = {0, 1, 2, 3, 4, 6, 8, 12};

// The code nearest to a magnitude, the smaller of two as near.
uint8_t nearest_code(float magnitude) {
  uint8_t code = 0;
  while (code < 7 && magnitude * 4 > static_cast<float>(kTwiceE2M1[code] + kTwiceE2M1[code + 1])) ++code;
  return code;
}

struct Candidate {
  float error = 0;
  std::array<uint8_t, kBlock32> codes;
};

Candidate encode_with(const float* x, float scale) {
  Candidate result;
  for (size_t i = 0; i < result.codes.size(); ++i) {
    const uint8_t code = nearest_code(std::fabs(x[i]) / scale);
    const float error = std::fabs(x[i]) - scale * static_cast<float>(kTwiceE2M1[code]) / 2;
    result.error += error * error;
    result.codes[i] = static_cast<uint8_t>(code | (x[i] < 0 && code != 0 ? 8 : 0));
  }
  return result;
}

}  // namespace

// Scales are powers of two: the one with which the largest value is just below the largest code, and its
// neighbours.
void quantize_block(const float* x, BlockMXFP4& block) {
  float largest = 0;
  for (int i = 0; i < kBlock32; ++i) largest = std::max(largest, std::fabs(x[i]));
  const int centre = largest == 0 ? 0 : std::max(std::ilogb(largest) - 2 + 127, 0);
  Candidate best{std::numeric_limits<float>::infinity(), {}};
  for (int e = std::max(centre - 1, 0); e <= std::min(centre + 1, 254); ++e) {
    const Candidate candidate = encode_with(x, e8m0_to_f32(static_cast<uint8_t>(e)));
    if (!(candidate.error < best.error)) continue;
    best = candidate;
    block.e = static_cast<uint8_t>(e);
  }
  pack_nibbles(best.codes.data(), block.qs);
}

}  // namespace inferno::quantize
