// What a tokenizer computes of a vocabulary, as bytes that another process uses as they lie: arrays one after
// the other, each from a multiple of 64 bytes on.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace inferno::tokenizer {

class TableWriter {
 public:
  template <class T>
  void add(std::span<const T> values) {
    static_assert(std::is_trivially_copyable_v<T>);
    const size_t begin = (bytes_.size() + kAlignment - 1) / kAlignment * kAlignment;
    bytes_.resize(begin + values.size_bytes());
    if (!values.empty()) std::memcpy(&bytes_[begin], values.data(), values.size_bytes());
  }
  template <class T>
  void add_one(const T& value) {
    add(std::span(&value, 1));
  }
  std::vector<std::byte> take() && { return std::move(bytes_); }

 private:
  friend class TableReader;
  static constexpr size_t kAlignment = 64;
  std::vector<std::byte> bytes_;
};

// Takes the same arrays in the same order, of bytes that `owner` owns and that are aligned for whatever is
// taken.
class TableReader {
 public:
  TableReader(std::span<const std::byte> bytes, std::shared_ptr<const void> owner)
      : bytes_(bytes), owner_(std::move(owner)) {}

  const std::shared_ptr<const void>& owner() const { return owner_; }

  // nullopt where there are not so many, and ever after.
  template <class T>
  std::optional<std::span<const T>> take(size_t n) {
    static_assert(std::is_trivially_copyable_v<T>);
    constexpr size_t kAlignment = TableWriter::kAlignment;
    const size_t begin = (at_ + kAlignment - 1) / kAlignment * kAlignment;
    if (begin > bytes_.size() || n > (bytes_.size() - begin) / sizeof(T)) is_short_ = true;
    if (is_short_) return std::nullopt;
    at_ = begin + n * sizeof(T);
    return std::span(reinterpret_cast<const T*>(bytes_.data() + begin), n);
  }
  template <class T>
  std::optional<T> take_one() {
    const auto one = take<std::byte>(sizeof(T));
    if (!one) return std::nullopt;
    T value;
    std::memcpy(&value, one->data(), sizeof value);
    return value;
  }

 private:
  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> owner_;
  size_t at_ = 0;
  bool is_short_ = false;
};

}  // namespace inferno::tokenizer
