// Metadata values element by element, each as the C++ type that it has in the file.
#pragma once

#include "base/check.h"
#include "gguf/cursor.h"
#include "gguf/file.h"
#include "gguf/limits.h"

namespace inferno::gguf {

inline std::string_view load_string(const std::byte* at) {
  return as_text({at + sizeof(uint64_t), load<uint64_t>(at)});
}

// Bytes that the element at `at` takes in the file.
inline uint64_t stored_bytes(ValueType type, const std::byte* at) {
  return type == ValueType::kString ? sizeof(uint64_t) + load<uint64_t>(at) : element_bytes(type);
}

// visit(element) for the element whose bytes begin at `at`: an integer, float, double, bool or
// std::string_view.
template <class Visit>
auto visit_element(ValueType type, const std::byte* at, Visit&& visit) {
  switch (type) {
    case ValueType::kUint8:
      return visit(load<uint8_t>(at));
    case ValueType::kInt8:
      return visit(load<int8_t>(at));
    case ValueType::kUint16:
      return visit(load<uint16_t>(at));
    case ValueType::kInt16:
      return visit(load<int16_t>(at));
    case ValueType::kUint32:
      return visit(load<uint32_t>(at));
    case ValueType::kInt32:
      return visit(load<int32_t>(at));
    case ValueType::kUint64:
      return visit(load<uint64_t>(at));
    case ValueType::kInt64:
      return visit(load<int64_t>(at));
    case ValueType::kFloat32:
      return visit(load<float>(at));
    case ValueType::kFloat64:
      return visit(load<double>(at));
    case ValueType::kBool:
      return visit(load<uint8_t>(at) != 0);
    case ValueType::kString:
      return visit(load_string(at));
    case ValueType::kArray:
      break;
  }
  check_failed("element type", __FILE__, __LINE__, "{} is no element type", static_cast<uint32_t>(type));
}

// visit(element) for each element in order (one for a scalar), until it returns false.
template <class Visit>
void visit_elements(const Value& value, Visit&& visit) {
  const std::byte* at = value.payload.data();
  for (uint64_t i = 0; i < value.count; ++i) {
    if (!visit_element(value.element_type, at, visit)) return;
    at += stored_bytes(value.element_type, at);
  }
}

}  // namespace inferno::gguf
