#include "tensor/dtype.h"

#include <gtest/gtest.h>

#include <set>

namespace inferno {
namespace {

struct Expected {
  uint32_t id;
  const char* name;
  uint32_t block_elems;
  uint32_t block_bytes;
};

// Counted by hand from the format descriptions: scales + minimums + packed elements, in bytes.
constexpr Expected kExpected[] = {
    {0, "F32", 1, 4},
    {1, "F16", 1, 2},
    {2, "Q4_0", 32, 2 + 16},
    {3, "Q4_1", 32, 2 + 2 + 16},
    {6, "Q5_0", 32, 2 + 4 + 16},
    {7, "Q5_1", 32, 2 + 2 + 4 + 16},
    {8, "Q8_0", 32, 2 + 32},
    {10, "Q2_K", 256, 16 + 64 + 2 + 2},
    {11, "Q3_K", 256, 32 + 64 + 12 + 2},
    {12, "Q4_K", 256, 2 + 2 + 12 + 128},
    {13, "Q5_K", 256, 2 + 2 + 12 + 32 + 128},
    {14, "Q6_K", 256, 128 + 64 + 16 + 2},
    {15, "Q8_K", 256, 4 + 256 + 32},
    {20, "IQ4_NL", 32, 2 + 16},
    {23, "IQ4_XS", 256, 2 + 2 + 4 + 128},
    {24, "I8", 1, 1},
    {25, "I16", 1, 2},
    {26, "I32", 1, 4},
    {27, "I64", 1, 8},
    {28, "F64", 1, 8},
    {30, "BF16", 1, 2},
    {39, "MXFP4", 32, 1 + 16},
};

TEST(DType, TheTableHasTheFormatsSizes) {
  for (const Expected& expected : kExpected) {
    const DTypeTraits* row = find_dtype(expected.id);
    ASSERT_NE(row, nullptr) << expected.name;
    EXPECT_EQ(static_cast<uint32_t>(row->dtype), expected.id);
    EXPECT_EQ(row->name, expected.name);
    EXPECT_EQ(name(row->dtype), expected.name);
    EXPECT_EQ(row->block_elems, expected.block_elems) << expected.name;
    EXPECT_EQ(row->block_bytes, expected.block_bytes) << expected.name;
    EXPECT_EQ(row_bytes(row->dtype, 512), 512 / expected.block_elems * expected.block_bytes) << expected.name;
    EXPECT_EQ(row->is_weight, expected.id < 24 || expected.id > 27) << expected.name;  // all but the integers
  }
}

TEST(DType, AnIdIsSupportedOrNamedAsUnsupportedOrUnknown) {
  std::set<uint32_t> supported;
  for (const Expected& expected : kExpected) supported.insert(expected.id);
  for (uint32_t id = 0; id < 1000; ++id) {
    EXPECT_EQ(find_dtype(id) != nullptr, supported.contains(id)) << id;
    EXPECT_FALSE(supported.contains(id) && !unsupported_dtype_name(id).empty()) << id;
  }
  EXPECT_EQ(unsupported_dtype_name(16), "IQ2_XXS");
  EXPECT_EQ(unsupported_dtype_name(4), "Q4_2 (removed from the format)");
  EXPECT_EQ(unsupported_dtype_name(999), "");
  EXPECT_EQ(find_dtype(UINT32_MAX), nullptr);
}

TEST(DType, RowsThatAreNoWholeBlocksAreStoredOtherwise) {
  EXPECT_EQ(storage_type(DType::kQ4_K, 256), DType::kQ4_K);
  EXPECT_EQ(storage_type(DType::kQ4_K, 1152), DType::kQ5_0);
  EXPECT_EQ(storage_type(DType::kQ5_K, 1152), DType::kQ5_1);
  EXPECT_EQ(storage_type(DType::kQ6_K, 1152), DType::kQ8_0);
  EXPECT_EQ(storage_type(DType::kQ2_K, 1152), DType::kIQ4_NL);
  EXPECT_EQ(storage_type(DType::kIQ4_XS, 1152), DType::kIQ4_NL);
  EXPECT_EQ(storage_type(DType::kQ8_0, 1152), DType::kQ8_0);
  EXPECT_EQ(storage_type(DType::kQ8_0, 1150), DType::kF16);
  EXPECT_EQ(storage_type(DType::kQ4_K, 172), DType::kF16);
  EXPECT_EQ(storage_type(DType::kBF16, 172), DType::kBF16);
}

}  // namespace
}  // namespace inferno
