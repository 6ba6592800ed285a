// The storage formats of tensors and the one table of their sizes. Plain data: kernels may include it.
// Source of ids and block sizes: the GGUF specification (ggml docs/gguf.md) and ggml's type list.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace inferno {

// Values are GGUF's tensor type ids.
enum class DType : uint32_t {
  kF32 = 0,
  kF16 = 1,
  kQ4_0 = 2,
  kQ4_1 = 3,
  kQ5_0 = 6,
  kQ5_1 = 7,
  kQ8_0 = 8,
  kQ2_K = 10,
  kQ3_K = 11,
  kQ4_K = 12,
  kQ5_K = 13,
  kQ6_K = 14,
  kQ8_K = 15,
  kIQ4_NL = 20,
  kIQ4_XS = 23,
  kI8 = 24,
  kI16 = 25,
  kI32 = 26,
  kI64 = 27,
  kF64 = 28,
  kBF16 = 30,
  kMXFP4 = 39,
};

struct DTypeTraits {
  DType dtype;
  std::string_view name;  // as peers and `gguf-inspect` print it: "Q8_0"
  uint32_t block_elems;   // elements that share one block; 1 for plain types
  uint32_t block_bytes;   // bytes of one block
  bool is_weight;         // a matmul can read it
};

// The whole table, by id.
std::span<const DTypeTraits> dtype_table();
// The table's row, or nullptr for an id that is not in it.
const DTypeTraits* find_dtype(uint32_t gguf_id);
const DTypeTraits& traits(DType dtype);

// The name of a type that exists in the wild but is not in the table ("IQ2_XXS", "Q4_0_4_4 (removed)"), or
// "".
std::string_view unsupported_dtype_name(uint32_t gguf_id);

inline std::string_view name(DType dtype) {
  return traits(dtype).name;
}

// Bytes of a row of n elements; n is a multiple of block_elems.
inline size_t row_bytes(DType dtype, size_t n) {
  const DTypeTraits& t = traits(dtype);
  return n / t.block_elems * t.block_bytes;
}

// What a matrix with rows of n elements is stored as when `wanted` was asked for: `wanted` where they are
// whole blocks of it, else the format of 32 elements to a block that the usual quantizers take in its place,
// else F16.
DType storage_type(DType wanted, int64_t n);

}  // namespace inferno
