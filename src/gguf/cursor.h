// Reads little-endian values from bytes in order and never beyond their end.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

namespace inferno::gguf {

static_assert(std::endian::native == std::endian::little, "values are read as they stand in the file");

// `at` need not be aligned.
template <class T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

inline std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class Cursor {
 public:
  explicit Cursor(std::span<const std::byte> bytes) : bytes_(bytes) {}

  uint64_t position() const { return position_; }
  uint64_t remaining() const { return bytes_.size() - position_; }

  // The next `count` bytes, or nullopt (and no step) when fewer are left.
  std::optional<std::span<const std::byte>> take(uint64_t count) {
    if (count > remaining()) return std::nullopt;
    const auto taken = bytes_.subspan(position_, count);
    position_ += count;
    return taken;
  }

  // Steps over a string, a 64-bit length and so many bytes; false (and no step) where it is longer than that
  // or than what is left.
  bool skip_string(uint64_t max_bytes) {
    if (remaining() < sizeof(uint64_t)) return false;
    const auto length = load<uint64_t>(bytes_.data() + position_);
    if (length > max_bytes || length > remaining() - sizeof(uint64_t)) return false;
    position_ += sizeof(uint64_t) + length;
    return true;
  }

 private:
  std::span<const std::byte> bytes_;
  uint64_t position_ = 0;
};

}  // namespace inferno::gguf
