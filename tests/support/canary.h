// Output buffers that notice a write outside them and show a write that did not happen.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace inferno::test {

// count elements between two canaries. The elements start as all-ones bytes: a NaN, or -1, until written.
template <class T>
class Guarded {
 public:
  explicit Guarded(int64_t count)
      : count_(static_cast<size_t>(count)), bytes_(2 * kGuard + count_ * sizeof(T), 0xff) {
    std::fill(bytes_.begin(), bytes_.begin() + kGuard, kCanary);
    std::fill(bytes_.end() - kGuard, bytes_.end(), kCanary);
  }
  explicit Guarded(const std::vector<T>& values) : Guarded(static_cast<int64_t>(values.size())) {
    if (count_ != 0) std::memcpy(bytes_.data() + kGuard, values.data(), count_ * sizeof(T));
  }

  T* data() { return reinterpret_cast<T*>(bytes_.data() + kGuard); }
  std::vector<T> values() { return std::vector<T>(data(), data() + count_); }

  // To be called after each run of what writes here.
  void expect_canaries_alive() const {
    const auto alive = [](uint8_t byte) { return byte == kCanary; };
    EXPECT_TRUE(std::all_of(bytes_.begin(), bytes_.begin() + kGuard, alive)) << "written before the buffer";
    EXPECT_TRUE(std::all_of(bytes_.end() - kGuard, bytes_.end(), alive)) << "written behind the buffer";
  }

 private:
  static constexpr std::ptrdiff_t kGuard = 64;  // keeps the elements aligned as the allocation is
  static constexpr uint8_t kCanary = 0xa5;
  size_t count_;
  std::vector<uint8_t> bytes_;
};

// Bit for bit: a NaN equals itself, 0 and -0 differ.
template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

}  // namespace inferno::test
