// Metadata values as C++ values: the typed accessors of File.
#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>

#include "base/text.h"
#include "gguf/file.h"
#include "gguf/limits.h"
#include "gguf/visit.h"

namespace inferno::gguf {
namespace {

template <class T>
constexpr bool is_integer = std::is_integral_v<T> && !std::is_same_v<T, bool>;

template <class T>
constexpr std::string_view expected_type() {
  if constexpr (std::is_same_v<T, bool>) return "bool";
  if constexpr (std::is_same_v<T, std::string_view>) return "string";
  if constexpr (std::is_floating_point_v<T>) return "a finite f32 or f64";
  if constexpr (std::is_same_v<T, int8_t>) return "an integer that fits i8";
  if constexpr (std::is_same_v<T, int16_t>) return "an integer that fits i16";
  if constexpr (std::is_same_v<T, int32_t>) return "an integer that fits i32";
  if constexpr (std::is_same_v<T, int64_t>) return "an integer that fits i64";
  if constexpr (std::is_same_v<T, uint8_t>) return "an integer that fits u8";
  if constexpr (std::is_same_v<T, uint16_t>) return "an integer that fits u16";
  if constexpr (std::is_same_v<T, uint32_t>) return "an integer that fits u32";
  if constexpr (std::is_same_v<T, uint64_t>) return "an integer that fits u64";
}

std::string type_text(const Value& value) {
  if (value.type != ValueType::kArray) return std::string(name(value.type));
  return fmt::format("array of {} {}", value.count, name(value.element_type));
}

// False when `from` is of another kind (integer, float, bool, string), does not fit or is not finite.
template <class T, class From>
bool convert(From from, T& to) {
  if constexpr (std::is_same_v<T, From> && !std::is_floating_point_v<T>) {
    to = from;
    return true;
  } else if constexpr (is_integer<T> && is_integer<From>) {
    if (!std::in_range<T>(from)) return false;
    to = static_cast<T>(from);
    return true;
  } else if constexpr (std::is_floating_point_v<T> && std::is_floating_point_v<From>) {
    if (!std::isfinite(from) || std::abs(from) > static_cast<double>(std::numeric_limits<T>::max()))
      return false;
    to = static_cast<T>(from);
    return true;
  } else {
    return false;
  }
}

// The element as it is, for the error that says why it is not what was expected.
std::string element_text(ValueType type, const std::byte* at) {
  return visit_element(type, at, [](auto element) {
    if constexpr (std::is_same_v<decltype(element), std::string_view>) {
      return '"' + escaped(element) + '"';
    } else {
      return fmt::format("{}", element);
    }
  });
}

Error missing(const File& file, std::string_view key) {
  return make_error(ErrorCode::kInvalidFile, "{}: metadata key \"{}\" is missing", escaped(file.path(), 4096),
                    escaped(key));
}

Error mismatch(const File& file, std::string_view key, uint64_t offset, std::string_view expected,
               std::string_view found) {
  return make_error(ErrorCode::kInvalidFile, "{}: at byte {}: metadata key \"{}\": expected {}, found {}",
                    escaped(file.path(), 4096), offset, escaped(key), expected, found);
}

template <class T>
Result<T> scalar(const File& file, std::string_view key, const Value& value) {
  if (value.type == ValueType::kArray)
    return mismatch(file, key, value.offset, expected_type<T>(), type_text(value));
  T result{};
  const std::byte* at = value.payload.data();
  if (visit_element(value.type, at, [&](auto element) { return convert(element, result); })) return result;
  return mismatch(file, key, value.offset, expected_type<T>(),
                  fmt::format("{} {}", type_text(value), element_text(value.type, at)));
}

// take(i, element) for each element of an array (or for a scalar, which is one).
template <class T, class Take>
Status each_element(const File& file, std::string_view key, const Value& value, Take&& take) {
  if (value.element_type == ValueType::kString) {
    return mismatch(file, key, value.offset, fmt::format("an array of {}", expected_type<T>()),
                    type_text(value));
  }
  const uint64_t stride = element_bytes(value.element_type);
  for (uint64_t i = 0; i < value.count; ++i) {
    const std::byte* at = value.payload.data() + i * stride;
    T element{};
    if (!visit_element(value.element_type, at, [&](auto found) { return convert(found, element); })) {
      return mismatch(file, key, value.offset + i * stride, expected_type<T>(),
                      fmt::format("{} {} as element {}", name(value.element_type),
                                  element_text(value.element_type, at), i));
    }
    take(i, element);
  }
  return {};
}

}  // namespace

std::string_view name(ValueType type) {
  switch (type) {
    case ValueType::kUint8:
      return "u8";
    case ValueType::kInt8:
      return "i8";
    case ValueType::kUint16:
      return "u16";
    case ValueType::kInt16:
      return "i16";
    case ValueType::kUint32:
      return "u32";
    case ValueType::kInt32:
      return "i32";
    case ValueType::kFloat32:
      return "f32";
    case ValueType::kBool:
      return "bool";
    case ValueType::kString:
      return "string";
    case ValueType::kArray:
      return "array";
    case ValueType::kUint64:
      return "u64";
    case ValueType::kInt64:
      return "i64";
    case ValueType::kFloat64:
      return "f64";
  }
  return "unknown";
}

std::string_view StringRange::Iterator::operator*() const {
  return load_string(at_);
}

uint64_t element_offset(const Value& value, uint64_t index) {
  const std::byte* at = value.payload.data();
  for (uint64_t i = 0; i < std::min(index, value.count); ++i) at += stored_bytes(value.element_type, at);
  return value.offset + static_cast<uint64_t>(at - value.payload.data());
}

StringRange::Iterator& StringRange::Iterator::operator++() {
  at_ += stored_bytes(ValueType::kString, at_);
  --left_;
  return *this;
}

template <class T>
Result<T> File::meta(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return missing(*this, key);
  return scalar<T>(*this, key, *value);
}

template <class T>
Result<std::optional<T>> File::meta_optional(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return std::optional<T>();
  TRY_ASSIGN(const T result, scalar<T>(*this, key, *value));
  return std::optional<T>(result);
}

template <class T>
Result<std::vector<T>> File::meta_array(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return missing(*this, key);
  std::vector<T> result;
  if (value->element_type != ValueType::kString) result.reserve(value->count);
  TRY(each_element<T>(*this, key, *value, [&](uint64_t, T element) { result.push_back(element); }));
  return result;
}

template <class T>
Status File::meta_array_to(std::string_view key, std::span<T> to) const {
  const Value* value = find(key);
  if (value == nullptr) return missing(*this, key);
  if (value->count != to.size()) {
    return mismatch(*this, key, value->offset, fmt::format("an array of {} elements", to.size()),
                    type_text(*value));
  }
  return each_element<T>(*this, key, *value, [&](uint64_t i, T element) { to[i] = element; });
}

Result<StringRange> File::meta_strings(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return missing(*this, key);
  if (value->type == ValueType::kArray && value->element_type == ValueType::kString)
    return StringRange(*value);
  return mismatch(*this, key, value->offset, "an array of strings", type_text(*value));
}

#define INSTANTIATE_SCALAR(T)                                   \
  template Result<T> File::meta<T>(std::string_view key) const; \
  template Result<std::optional<T>> File::meta_optional<T>(std::string_view key) const
INSTANTIATE_SCALAR(bool);
INSTANTIATE_SCALAR(std::string_view);
INSTANTIATE_SCALAR(float);
INSTANTIATE_SCALAR(double);
INSTANTIATE_SCALAR(int8_t);
INSTANTIATE_SCALAR(int16_t);
INSTANTIATE_SCALAR(int32_t);
INSTANTIATE_SCALAR(int64_t);
INSTANTIATE_SCALAR(uint8_t);
INSTANTIATE_SCALAR(uint16_t);
INSTANTIATE_SCALAR(uint32_t);
INSTANTIATE_SCALAR(uint64_t);
#undef INSTANTIATE_SCALAR

#define INSTANTIATE_ARRAY(T) template Result<std::vector<T>> File::meta_array<T>(std::string_view key) const
INSTANTIATE_ARRAY(bool);
INSTANTIATE_ARRAY(float);
INSTANTIATE_ARRAY(double);
INSTANTIATE_ARRAY(int32_t);
INSTANTIATE_ARRAY(uint32_t);
INSTANTIATE_ARRAY(uint64_t);
#undef INSTANTIATE_ARRAY
template Status File::meta_array_to<float>(std::string_view key, std::span<float> to) const;
template Status File::meta_array_to<int32_t>(std::string_view key, std::span<int32_t> to) const;

}  // namespace inferno::gguf
