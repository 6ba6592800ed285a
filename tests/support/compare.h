// Distances between arrays of logits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

namespace inferno::test {

// sum (a - b)^2 / sum b^2; b is the truth.
inline double nmse(std::span<const float> a, std::span<const float> b) {
  double error = 0;
  double power = 0;
  for (size_t i = 0; i < b.size(); ++i) {
    const double difference = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    error += difference * difference;
    power += static_cast<double>(b[i]) * static_cast<double>(b[i]);
  }
  return power > 0 ? error / power : error;
}

inline int64_t argmax(std::span<const float> row) {
  return std::max_element(row.begin(), row.end()) - row.begin();
}

}  // namespace inferno::test
