// What a GGUF file may contain, for the reader and the writer alike. The specification sets few limits; the
// rest are far above any real model and keep a hostile header cheap.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "gguf/file.h"
#include "tensor/dtype.h"

namespace inferno::gguf {

inline constexpr std::string_view kMagic = "GGUF";  // the first bytes

inline constexpr uint64_t kMaxKeys = uint64_t{1} << 20;
inline constexpr uint64_t kMaxKeyBytes = 65535;  // specification
inline constexpr uint64_t kMaxStringBytes = uint64_t{16} << 20;
inline constexpr uint64_t kMaxArrayElements = uint64_t{64} << 20;
inline constexpr uint64_t kMaxTensors = 65536;
inline constexpr uint64_t kMaxTensorNameBytes = 63;  // ggml keeps names in 64 bytes
inline constexpr uint64_t kMaxDims = 4;
inline constexpr uint64_t kMaxShards = 99999;  // five digits in the file name

// general.alignment: a power of two. The specification asks for a multiple of 8; 64 KiB is the largest page
// in use.
inline constexpr uint64_t kMinAlignment = 8;
inline constexpr uint64_t kMaxAlignment = 65536;
inline constexpr uint32_t kDefaultAlignment = 32;
inline constexpr std::string_view kAlignmentKey = "general.alignment";
bool is_valid_alignment(uint64_t alignment);

// What is wrong with a key or a tensor's name ("is not valid UTF-8"), or "" when it is well-formed.
std::string key_problem(std::string_view key);
std::string tensor_name_problem(std::string_view name);

// Bytes of one element in the file; 8 (its length) for a string, which is the least it takes; 0 for an array.
uint64_t element_bytes(ValueType type);

// Bytes of a tensor of these dimensions (each at least 1, the innermost a multiple of the block), or nullopt
// when they do not fit 63 bits. Every step is checked.
std::optional<uint64_t> tensor_bytes(const DTypeTraits& traits, std::span<const uint64_t> dims);

}  // namespace inferno::gguf
