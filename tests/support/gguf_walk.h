// Uses everything that an open gguf::File offers, as a caller could: what open() accepted must hold then.
#pragma once

#include "gguf/file.h"

namespace inferno::test {

// Returns a number that depends on what was read.
inline uint64_t walk(const gguf::File& file) {
  uint64_t sum =
      file.version() + file.alignment() + file.data_offset() + file.file_bytes() + file.warnings().size();
  for (const auto& [key, value] : file.metadata()) {
    sum += file.find(key) == &value ? 1 : 0;
    sum += file.meta<bool>(key).ok() + file.meta<std::string_view>(key).ok() + file.meta<float>(key).ok() +
           file.meta<double>(key).ok() + file.meta<int8_t>(key).ok() + file.meta<int16_t>(key).ok() +
           file.meta<uint32_t>(key).ok() + file.meta<int64_t>(key).ok() + file.meta<uint64_t>(key).ok();
    sum += file.meta_optional<uint16_t>(key).ok();
    sum += file.meta_array<bool>(key).ok() + file.meta_array<float>(key).ok() +
           file.meta_array<double>(key).ok() + file.meta_array<int32_t>(key).ok() +
           file.meta_array<uint32_t>(key).ok() + file.meta_array<uint64_t>(key).ok();
    if (const auto strings = file.meta_strings(key); strings.ok()) {
      for (const std::string_view text : *strings)
        sum += text.empty() ? 1 : static_cast<uint8_t>(text.back());
    }
    for (const std::byte b : value.payload) sum += std::to_integer<uint8_t>(b);
  }
  for (const gguf::TensorInfo& info : file.tensors()) {
    sum += file.find_tensor(info.name) == &info ? 1 : 0;
    const std::byte* data = info.tensor.as<const std::byte>();
    sum += std::to_integer<uint8_t>(data[0]) + std::to_integer<uint8_t>(data[info.tensor.bytes() - 1]);
    sum += info.tensor.shape_string().size() + static_cast<uint64_t>(info.tensor.rows());
  }
  return sum;
}

}  // namespace inferno::test
