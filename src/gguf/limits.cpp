#include "gguf/limits.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>

#include "base/checked_math.h"
#include "base/text.h"

namespace inferno::gguf {

bool is_valid_alignment(uint64_t alignment) {
  return std::has_single_bit(alignment) && alignment >= kMinAlignment && alignment <= kMaxAlignment;
}

std::string key_problem(std::string_view key) {
  if (key.empty()) return "is empty";
  if (key.size() > kMaxKeyBytes)
    return fmt::format("has {} bytes, expected at most {}", key.size(), kMaxKeyBytes);
  if (key.find('\0') != std::string_view::npos) return "contains a NUL byte";
  if (!is_valid_utf8(key)) return "is not valid UTF-8";
  return {};
}

std::string tensor_name_problem(std::string_view name) {
  if (name.empty()) return "is empty";
  if (name.size() > kMaxTensorNameBytes) {
    return fmt::format("has {} bytes, expected at most {}", name.size(), kMaxTensorNameBytes);
  }
  if (!is_valid_utf8(name)) return "is not valid UTF-8";
  const auto forbidden = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7f || c == '/' || c == '\\';
  };
  if (std::any_of(name.begin(), name.end(), forbidden)) {
    return "contains a path separator, a NUL byte or another control character";
  }
  return {};
}

uint64_t element_bytes(ValueType type) {
  switch (type) {
    case ValueType::kUint8:
    case ValueType::kInt8:
    case ValueType::kBool:
      return 1;
    case ValueType::kUint16:
    case ValueType::kInt16:
      return 2;
    case ValueType::kUint32:
    case ValueType::kInt32:
    case ValueType::kFloat32:
      return 4;
    case ValueType::kString:
    case ValueType::kUint64:
    case ValueType::kInt64:
    case ValueType::kFloat64:
      return 8;
    case ValueType::kArray:
      return 0;
  }
  return 0;
}

std::optional<uint64_t> tensor_bytes(const DTypeTraits& traits, std::span<const uint64_t> dims) {
  std::optional<uint64_t> elements = 1;
  for (const uint64_t dim : dims) {
    elements = checked_mul(*elements, dim);
    if (!elements || *elements > INT64_MAX) return std::nullopt;
  }
  const auto bytes = checked_mul(*elements / traits.block_elems, traits.block_bytes);
  return bytes && *bytes <= INT64_MAX ? bytes : std::nullopt;
}

}  // namespace inferno::gguf
