#include <arm_neon.h>

#include "kernels/cpu/neon/functions.h"
#include "kernels/reference/reference.h"

namespace inferno::kernels::neon {
namespace {

constexpr int64_t kStreams = 4;  // places that are read in turn; no ARM machine has timed any other number
constexpr int64_t kStep = 64;    // bytes of each in a turn

}  // namespace

uint64_t read_all(const void* data, int64_t bytes, int64_t) {
  const auto* at = static_cast<const uint8_t*>(data);
  const int64_t stream = bytes / (kStreams * kStep) * kStep;
  uint64x2_t sums[kStreams][4];
  for (auto& four : sums) {
    for (uint64x2_t& sum : four) sum = vdupq_n_u64(0);
  }
  for (int64_t i = 0; i < stream; i += kStep) {
    for (int64_t s = 0; s < kStreams; ++s) {
      const uint8_t* from = at + s * stream + i;
      for (int64_t j = 0; j < 4; ++j) {
        sums[s][j] = vaddq_u64(sums[s][j], vreinterpretq_u64_u8(vld1q_u8(from + 16 * j)));
      }
    }
  }
  uint64x2_t sum = vdupq_n_u64(0);
  for (const auto& four : sums) {
    for (const uint64x2_t& part : four) sum = vaddq_u64(sum, part);
  }
  const uint64_t rest = reference::read_all(at + kStreams * stream, bytes - kStreams * stream);
  return vaddvq_u64(sum) + rest;
}

}  // namespace inferno::kernels::neon
