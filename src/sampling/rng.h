// Randomness as a function of (seed, position), never of a shared stream: a request's tokens do not depend on
// what else is running. Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2,
// 3", SC 2011).
#pragma once

#include <array>
#include <cstdint>

namespace inferno::sampling {

struct RngKey {
  uint64_t seed;
  uint64_t position;  // of the token to be drawn, in its sequence
};

std::array<uint32_t, 4> philox4x32_10(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

// Uniform in [0, 1), 53 bits: Philox with the position as counter and the seed as key, low words first.
double uniform(RngKey key);

}  // namespace inferno::sampling
