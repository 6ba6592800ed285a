// Random inputs that are the same on every machine and with every standard library.
#pragma once

#include <cstdint>
#include <vector>

namespace inferno::test {

// SplitMix64: Steele, Lea and Flood 2014.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t bits() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  uint8_t byte() { return static_cast<uint8_t>(bits() >> 56); }
  // In [0, n).
  int64_t below(int64_t n) { return static_cast<int64_t>(bits() % static_cast<uint64_t>(n)); }
  // In [low, high).
  double uniform(double low, double high) {
    return low + (high - low) * static_cast<double>(bits() >> 11) * 0x1p-53;
  }

  std::vector<float> floats(int64_t n, double low = -1.0, double high = 1.0) {
    std::vector<float> values(static_cast<size_t>(n));
    for (float& value : values) value = static_cast<float>(uniform(low, high));
    return values;
  }

 private:
  uint64_t state_;
};

}  // namespace inferno::test
