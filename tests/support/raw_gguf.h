// Builds the bytes of GGUF files piece by piece, right or wrong: what gguf::Writer refuses to write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "gguf/file.h"

namespace inferno::test {

class RawGguf {
 public:
  // The file's first 24 bytes.
  RawGguf& header(uint64_t n_tensors, uint64_t n_keys, uint32_t version = 3) {
    return text("GGUF").number(version).number(n_tensors).number(n_keys);
  }
  template <class T>
  RawGguf& number(T value) {
    const size_t end = bytes_.size();
    bytes_.resize(end + sizeof(T));
    std::memcpy(bytes_.data() + end, &value, sizeof(T));
    return *this;
  }
  RawGguf& text(std::string_view characters) {
    for (const char c : characters) number(c);
    return *this;
  }
  RawGguf& string(std::string_view characters) {
    return number<uint64_t>(characters.size()).text(characters);
  }
  RawGguf& type(gguf::ValueType type) { return number(static_cast<uint32_t>(type)); }
  // A key and the type of its value; the value is to follow.
  RawGguf& key(std::string_view name, gguf::ValueType value_type) { return string(name).type(value_type); }
  RawGguf& array(std::string_view name, uint32_t element_type, uint64_t count) {
    return key(name, gguf::ValueType::kArray).number(element_type).number(count);
  }
  RawGguf& key_u32(std::string_view name, uint32_t value) {
    return key(name, gguf::ValueType::kUint32).number(value);
  }
  RawGguf& key_string(std::string_view name, std::string_view value) {
    return key(name, gguf::ValueType::kString).string(value);
  }
  // Dimensions innermost first, as they stand in the file.
  RawGguf& tensor(std::string_view name, std::initializer_list<uint64_t> dims, uint32_t dtype,
                  uint64_t offset) {
    string(name).number(static_cast<uint32_t>(dims.size()));
    for (const uint64_t dim : dims) number(dim);
    return number(dtype).number(offset);
  }
  RawGguf& align(size_t alignment = 32) { return zeros((alignment - bytes_.size() % alignment) % alignment); }
  RawGguf& zeros(size_t count) {
    bytes_.resize(bytes_.size() + count);
    return *this;
  }
  RawGguf& truncate(size_t size) {
    bytes_.resize(size);
    return *this;
  }

  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace inferno::test
