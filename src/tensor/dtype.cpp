#include "tensor/dtype.h"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "tensor/quant_blocks.h"

namespace inferno {
namespace {

constexpr std::array kTraits = {
    DTypeTraits{DType::kF32, "F32", 1, 4, true},
    DTypeTraits{DType::kF16, "F16", 1, 2, true},
    DTypeTraits{DType::kQ4_0, "Q4_0", 32, sizeof(BlockQ4_0), true},
    DTypeTraits{DType::kQ4_1, "Q4_1", 32, sizeof(BlockQ4_1), true},
    DTypeTraits{DType::kQ5_0, "Q5_0", 32, sizeof(BlockQ5_0), true},
    DTypeTraits{DType::kQ5_1, "Q5_1", 32, sizeof(BlockQ5_1), true},
    DTypeTraits{DType::kQ8_0, "Q8_0", 32, sizeof(BlockQ8_0), true},
    DTypeTraits{DType::kQ2_K, "Q2_K", 256, sizeof(BlockQ2_K), true},
    DTypeTraits{DType::kQ3_K, "Q3_K", 256, sizeof(BlockQ3_K), true},
    DTypeTraits{DType::kQ4_K, "Q4_K", 256, sizeof(BlockQ4_K), true},
    DTypeTraits{DType::kQ5_K, "Q5_K", 256, sizeof(BlockQ5_K), true},
    DTypeTraits{DType::kQ6_K, "Q6_K", 256, sizeof(BlockQ6_K), true},
    DTypeTraits{DType::kQ8_K, "Q8_K", 256, sizeof(BlockQ8_K), true},
    DTypeTraits{DType::kIQ4_NL, "IQ4_NL", 32, sizeof(BlockIQ4_NL), true},
    DTypeTraits{DType::kIQ4_XS, "IQ4_XS", 256, sizeof(BlockIQ4_XS), true},
    DTypeTraits{DType::kI8, "I8", 1, 1, false},
    DTypeTraits{DType::kI16, "I16", 1, 2, false},
    DTypeTraits{DType::kI32, "I32", 1, 4, false},
    DTypeTraits{DType::kI64, "I64", 1, 8, false},
    DTypeTraits{DType::kF64, "F64", 1, 8, true},
    DTypeTraits{DType::kBF16, "BF16", 1, 2, true},
    DTypeTraits{DType::kMXFP4, "MXFP4", 32, sizeof(BlockMXFP4), true},
};

struct UnsupportedName {
  uint32_t id;
  std::string_view name;
};

constexpr std::array kUnsupported = {
    UnsupportedName{4, "Q4_2 (removed from the format)"},
    UnsupportedName{5, "Q4_3 (removed from the format)"},
    UnsupportedName{9, "Q8_1"},
    UnsupportedName{16, "IQ2_XXS"},
    UnsupportedName{17, "IQ2_XS"},
    UnsupportedName{18, "IQ3_XXS"},
    UnsupportedName{19, "IQ1_S"},
    UnsupportedName{21, "IQ3_S"},
    UnsupportedName{22, "IQ2_S"},
    UnsupportedName{29, "IQ1_M"},
    UnsupportedName{31, "Q4_0_4_4 (removed from the format)"},
    UnsupportedName{32, "Q4_0_4_8 (removed from the format)"},
    UnsupportedName{33, "Q4_0_8_8 (removed from the format)"},
    UnsupportedName{34, "TQ1_0"},
    UnsupportedName{35, "TQ2_0"},
};

}  // namespace

std::span<const DTypeTraits> dtype_table() {
  return kTraits;
}

const DTypeTraits* find_dtype(uint32_t gguf_id) {
  const auto* row = std::find_if(kTraits.begin(), kTraits.end(), [&](const DTypeTraits& t) {
    return static_cast<uint32_t>(t.dtype) == gguf_id;
  });
  return row == kTraits.end() ? nullptr : &*row;
}

const DTypeTraits& traits(DType dtype) {
  const DTypeTraits* row = find_dtype(static_cast<uint32_t>(dtype));
  if (row == nullptr) throw std::logic_error("DType without a row in the table");
  return *row;
}

std::string_view unsupported_dtype_name(uint32_t gguf_id) {
  const auto* row = std::find_if(kUnsupported.begin(), kUnsupported.end(),
                                 [&](const UnsupportedName& u) { return u.id == gguf_id; });
  return row == kUnsupported.end() ? std::string_view{} : row->name;
}

DType storage_type(DType wanted, int64_t n) {
  if (n % traits(wanted).block_elems == 0) return wanted;
  if (n % kBlock32 != 0) return DType::kF16;
  switch (wanted) {
    case DType::kQ4_K:
      return DType::kQ5_0;
    case DType::kQ5_K:
      return DType::kQ5_1;
    case DType::kQ6_K:
    case DType::kQ8_K:
      return DType::kQ8_0;
    default:
      return DType::kIQ4_NL;
  }
}

}  // namespace inferno
