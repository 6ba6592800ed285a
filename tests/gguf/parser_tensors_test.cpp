// Tensor entries and data that open() must refuse: rows B1 to B11 of the catalogue of bad inputs.
#include "gguf/bad_file.h"
#include "gguf/limits.h"

namespace inferno::test {
namespace {

constexpr uint32_t kF32 = 0;
constexpr uint32_t kQ8_0 = 8;
constexpr uint64_t kInt64Max = INT64_MAX;

// A file with these tensor entries and 256 bytes of data.
std::vector<std::byte> with(RawGguf entries, uint64_t n_tensors) {
  RawGguf file;
  file.header(n_tensors, 0);
  for (const std::byte b : entries.bytes()) file.number(b);
  return file.align().zeros(256).bytes();
}

std::vector<std::byte> with_tensor(std::string_view name, std::initializer_list<uint64_t> dims,
                                   uint32_t dtype, uint64_t offset = 0) {
  return with(RawGguf().tensor(name, dims, dtype, offset), 1);
}

std::vector<std::byte> with_n_dims(uint32_t n_dims) {
  return with(RawGguf().string("t").number(n_dims).zeros(64), 1);
}

std::vector<BadFile> bad_entries() {
  return {
      {"B1_NameOf64Bytes",
       with_tensor(std::string(64, 'n'), {8}, kF32),
       {"tensor #0", "length is 64", "at most 63"}},
      {"B1_NameEmpty", with_tensor("", {8}, kF32), {"is empty"}},
      {"B1_NameTwice",
       with(RawGguf().tensor("t", {8}, kF32, 0).tensor("t", {8}, kF32, 32), 2),
       {"\"t\"", "twice"}},
      {"B1_NameWithNul", with_tensor(std::string_view("a\0b", 3), {8}, kF32), {"a\\0b", "NUL"}},
      {"B1_NameIsAPath", with_tensor("../../etc/passwd", {8}, kF32), {"path separator"}},
      {"B1_NameNotUtf8", with_tensor("\xc3\x28", {8}, kF32), {"not valid UTF-8"}},
      {"B2_NoDimensions", with_n_dims(0), {"byte 33", "dimensions is 0", "1 to 4"}},
      {"B2_FiveDimensions", with_n_dims(5), {"dimensions is 5"}},
      {"B2_DimensionsMax", with_n_dims(~0u), {"dimensions is 4294967295"}},
      {"B3_DimensionZero", with_tensor("t", {8, 0}, kF32), {"byte 45", "tensor \"t\"", "dimension 1 is 0"}},
      {"B3_DimensionMinusOne", with_tensor("t", {kMinusOne}, kF32), {"dimension 0 is -1"}},
      {"B3_DimensionInt64Max", with_tensor("t", {kInt64Max}, kF32), {"overflows"}},
      {"B3_ProductWrapsToZero",
       with_tensor("t", {uint64_t{1} << 32, uint64_t{1} << 32}, kF32),
       {"overflows"}},
      {"B3_ProductWrapsToSmall", with_tensor("t", {(uint64_t{1} << 62) + 1, 4}, kF32), {"overflows"}},
      {"B3_ProductIsNegative", with_tensor("t", {kInt64Max, 2, 1, 1}, kF32), {"overflows"}},
      {"B3_ZeroAfterOverflow", with_tensor("t", {kInt64Max, 2, 0, 1}, kF32), {"dimension 2 is 0"}},
      {"B4_TypeMinusOne", with_tensor("t", {8}, ~0u), {"tensor type 4294967295 is unknown"}},
      {"B4_TypeRemoved", with_tensor("t", {8}, 4), {"Q4_2", "removed"}},
      {"B4_TypeNotSupported", with_tensor("t", {256}, 16), {"IQ2_XXS", "not supported"}},
      {"B4_TypeBeyondTheList", with_tensor("t", {8}, 1000), {"tensor type 1000 is unknown"}},
      {"B5_PartOfABlock", with_tensor("t", {48, 2}, kQ8_0), {"48 elements", "multiple of 32", "Q8_0"}},
      {"B5_ColumnsButNotRowsInBlocks", with_tensor("t", {2, 32}, kQ8_0), {"2 elements"}},
      {"B6_BytesOverflow", with_tensor("t", {uint64_t{1} << 61, 2}, kF32), {"size of shape", "overflows"}},
      {"B6_BytesWrapWithPadding", with_tensor("t", {0x3fff'ffff'ffff'ffffu}, kF32), {"overflows"}},
      {"B6_LargestThatFits",
       with_tensor("t", {0x1fff'ffff'ffff'ffffu}, kF32),
       {"beyond the data section", "256 bytes"}},
      {"B7_SumOverflows",
       with(RawGguf()
                .tensor("a", {0x7fff'ffff'ffff'ffc0u}, 24, 0)
                .tensor("b", {0x7fff'ffff'ffff'ffc0u}, 24, 0x7fff'ffff'ffff'ffc0u),
            2),
       {"tensor \"a\"", "beyond the data section"}},
      {"B8_OffsetUnaligned",
       with_tensor("t", {8}, kF32, 16),
       {"offset is 16", "multiple of the alignment, 32"}},
      {"B8_OffsetPastTheEnd",
       with_tensor("t", {8}, kF32, 256),
       {"offset 256", "size 32", "beyond", "256 bytes"}},
      {"B8_EndPastTheEnd", with_tensor("t", {65}, kF32), {"size 260", "256 bytes"}},
      {"B8_OffsetMax", with_tensor("t", {8}, kF32, kMinusOne - 31), {"18446744073709551584", "beyond"}},
      {"B8_OffsetMinusOne", with_tensor("t", {8}, kF32, kMinusOne), {"18446744073709551615", "multiple"}},
      {"B8_Overlap",
       with(RawGguf().tensor("a", {16}, kF32, 0).tensor("b", {8}, kF32, 32), 2),
       {"\"b\"", "overlaps", "\"a\""}},
      {"B8_SamePlace",
       with(RawGguf().tensor("a", {8}, kF32, 64).tensor("b", {8}, kF32, 64), 2),
       {"overlaps"}},
      {"B8_OverlapAgainstFileOrder",
       with(RawGguf().tensor("a", {8}, kF32, 32).tensor("b", {16}, kF32, 0), 2),
       {"\"a\"", "overlaps", "\"b\""}},
      {"B9_NoDataSection",
       RawGguf().header(1, 0).tensor("t", {8}, kF32, 0).bytes(),
       {"data section", "beyond the end"}},
      {"B11_TooManyTensors", RawGguf().header(1'000'000, 0).bytes(), {"1000000", "at most 65536"}},
  };
}

class GgufBadTensor : public testing::TestWithParam<BadFile> {};

TEST_P(GgufBadTensor, IsRefused) {
  expect_refused(GetParam());
}
INSTANTIATE_TEST_SUITE_P(Entry, GgufBadTensor, testing::ValuesIn(bad_entries()), id_of);

TEST(GgufTensors, TheLongestNameIsAccepted) {
  const std::string name(gguf::kMaxTensorNameBytes, 'n');
  const auto bytes = with_tensor(name, {8}, kF32);
  const auto file = gguf::File::from_memory(bytes, "good.gguf");
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_NE(file->find_tensor(name), nullptr);
}

// B8: files in the wild list tensors in another order than their data stands in.
TEST(GgufTensors, DecreasingOffsetsAreAccepted) {
  const auto bytes = with(RawGguf().tensor("a", {8}, kF32, 224).tensor("b", {56}, kF32, 0), 2);
  const auto file = gguf::File::from_memory(bytes, "good.gguf");
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->find_tensor("a")->tensor.as<std::byte>(), bytes.data() + bytes.size() - 32);
  EXPECT_EQ(file->find_tensor("a")->file_offset, bytes.size() - 32);
  EXPECT_TRUE(file->warnings().empty()) << file->warnings()[0];
}

TEST(GgufTensors, HolesAreAcceptedWithAWarning) {
  const auto bytes = with(RawGguf().tensor("a", {8}, kF32, 0).tensor("b", {32}, kF32, 128), 2);
  const auto file = gguf::File::from_memory(bytes, "holes.gguf");
  ASSERT_TRUE(file.ok()) << file.error().message;
  ASSERT_EQ(file->warnings().size(), 1u);
  EXPECT_EQ(file->warnings()[0], "holes.gguf: 96 bytes between tensors belong to none");
}

TEST(GgufTensors, B10_TrailingBytesAreAcceptedWithAWarning) {
  const auto bytes = with_tensor("t", {32}, kF32);  // 128 of 256 bytes
  const auto file = gguf::File::from_memory(bytes, "trailing.gguf");
  ASSERT_TRUE(file.ok()) << file.error().message;
  ASSERT_EQ(file->warnings().size(), 1u);
  EXPECT_NE(file->warnings()[0].find("128 bytes"), std::string::npos) << file->warnings()[0];
}

TEST(GgufTensors, DataWithoutPaddingAtTheEndIsAccepted) {
  const auto bytes = RawGguf().header(1, 0).tensor("t", {3}, kF32, 0).align().zeros(12).bytes();
  const auto file = gguf::File::from_memory(bytes, "good.gguf");
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_TRUE(file->warnings().empty());
}

TEST(GgufTensors, ShapesAreTurnedOutermostFirst) {
  const auto bytes = with_tensor("t", {32, 3}, kQ8_0);
  const auto file = gguf::File::from_memory(bytes, "good.gguf");
  ASSERT_TRUE(file.ok()) << file.error().message;
  const Tensor& tensor = file->find_tensor("t")->tensor;
  EXPECT_EQ(tensor.shape_string(), "[3, 32]");
  EXPECT_EQ(tensor.cols(), 32);
  EXPECT_EQ(tensor.bytes(), 3u * 34);
}

TEST(GgufTensors, AsManyTensorsAsAllowedAreRead) {
  RawGguf file_bytes;
  file_bytes.header(gguf::kMaxTensors, 0);
  for (uint64_t i = 0; i < gguf::kMaxTensors; ++i) file_bytes.tensor(std::to_string(i), {1}, kF32, 32 * i);
  file_bytes.align().zeros(32 * gguf::kMaxTensors);
  const auto file = gguf::File::from_memory(file_bytes.bytes(), "many.gguf");
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->tensors().size(), gguf::kMaxTensors);
  EXPECT_EQ(file->find_tensor("65535")->offset, 32 * 65535u);
}

}  // namespace
}  // namespace inferno::test
