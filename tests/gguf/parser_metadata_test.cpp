// Header and metadata that open() must refuse: rows A1 to A10 of the catalogue of bad inputs.
#include "gguf/bad_file.h"
#include "gguf/limits.h"
#include "support/gguf_walk.h"

namespace inferno::test {
namespace {

using gguf::ValueType;

RawGguf raw() {
  return {};
}

std::vector<std::byte> text_file(std::string_view text) {
  return raw().text(text).bytes();
}

// A file with one key of this name.
std::vector<std::byte> with_key(std::string_view key) {
  return raw().header(0, 1).key_u32(key, 1).bytes();
}

// A file whose only key's value is an array of this many elements in 64 bytes.
std::vector<std::byte> with_array(uint32_t element_type, uint64_t count) {
  return raw().header(0, 1).array("a", element_type, count).zeros(64).bytes();
}

std::vector<std::byte> with_alignment(uint32_t alignment) {
  return raw().header(0, 1).key_u32("general.alignment", alignment).bytes();
}

std::vector<BadFile> bad_headers() {
  return {
      {"A1_Empty", {}, {"byte 0", "empty"}},
      {"A1_OneByte", text_file("G"), {"truncated at 1 bytes", "magic"}},
      {"A1_NoCounts",
       raw().text("GGUF").number(3u).zeros(15).bytes(),
       {"truncated at 23 bytes", "metadata keys"}},
      {"A2_BadMagic", text_file("ABCDEFGH"), {"expected the magic \"GGUF\"", "found 41 42 43 44"}},
      {"A2_Zeros", raw().zeros(4096).bytes(), {"all zeros"}},
      {"A2_LfsPointer",
       text_file("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 639446688\n"),
       {"Git LFS pointer", "git lfs pull"}},
      {"A2_Html", text_file("\n<!DOCTYPE html><html><body>404</body></html>"), {"HTML"}},
      {"A2_Safetensors",
       raw().number<uint64_t>(64).text("{\"a\":{\"dtype\":\"F32\"").bytes(),
       {"safetensors"}},
      {"A2_Zip", text_file("PK\x03\x04 and so on"), {"zip", "PyTorch"}},
      {"A2_Pickle", text_file("\x80\x02}q"), {"pickle", "PyTorch"}},
      {"A2_Json", text_file("{\"error\": \"not found\"}"), {"JSON"}},
      {"A2_Ggjt", text_file("tjgg\x03"), {"GGJT", "before GGUF"}},
      {"A3_Version0", raw().header(0, 0, 0).bytes(), {"byte 4", "version is 0", "2 or 3"}},
      {"A3_Version1", raw().header(0, 0, 1).bytes(), {"byte 4", "version is 1", "convert"}},
      {"A3_Version4", raw().header(0, 0, 4).bytes(), {"version is 4", "newer"}},
      {"A3_VersionMax", raw().header(0, 0, 0xffffffff).bytes(), {"version is 4294967295"}},
      {"A3_BigEndian", raw().header(0, 0, 0x03000000).bytes(), {"wrong endianness", "version 3"}},
      {"A3_BigEndianMagic", text_file("FUGG\x03"), {"wrong endianness"}},
      {"A4_TensorsMinusOne",
       raw().header(kMinusOne, 0).zeros(64).bytes(),
       {"byte 8", "18446744073709551615"}},
      {"A4_Tensors2To63", raw().header(uint64_t{1} << 63, 0).zeros(64).bytes(), {"byte 8", "tensor count"}},
      {"A4_MoreTensorsThanBytes", raw().header(3, 0).zeros(98).bytes(), {"tensor count is 3", "98 bytes"}},
      {"A4_KeysMinusOne", raw().header(0, kMinusOne).zeros(64).bytes(), {"byte 16", "18446744073709551615"}},
      {"A4_Keys2To63", raw().header(0, uint64_t{1} << 63).zeros(64).bytes(), {"byte 16", "key count"}},
      {"A4_MoreKeysThanBytes", raw().header(0, 3).zeros(41).bytes(), {"key count is 3", "41 bytes"}},
  };
}

std::vector<BadFile> bad_keys() {
  const auto length = [](uint64_t n) { return raw().header(0, 1).number(n).zeros(64).bytes(); };
  return {
      {"A5_LengthMinusOne",
       length(kMinusOne),
       {"byte 24", "metadata key #0", "18446744073709551615", "65535"}},
      {"A5_Length2To40", length(uint64_t{1} << 40), {"1099511627776", "65535"}},
      {"A5_LongerThan64K", with_key(std::string(65536, 'k')), {"65536", "65535"}},
      {"A5_BeyondTheEnd", length(65), {"length is 65", "64 bytes are left", "truncated"}},
      {"A5_Empty", with_key(""), {"byte 24", "is empty"}},
      {"A5_NotUtf8", with_key("k\xff"), {"not valid UTF-8"}},
      {"A5_Nul", with_key(std::string_view("a\0b", 3)), {"NUL"}},
      {"A9_Duplicate",
       raw().header(0, 3).key_u32("a", 1).key_u32("b", 1).key_u32("a", 2).bytes(),
       {"\"a\"", "twice"}},
  };
}

std::vector<BadFile> bad_values() {
  const auto string_of_length = [](uint64_t n) {
    return raw().header(0, 1).key("s", ValueType::kString).number(n).zeros(2048).bytes();
  };
  const auto u32 = static_cast<uint32_t>(ValueType::kUint32);
  const auto string = static_cast<uint32_t>(ValueType::kString);
  return {
      {"A6_OneGibibyteInTwoKilobytes",
       string_of_length(uint64_t{1} << 30),
       {"metadata key \"s\"", "1073741824"}},
      {"A6_BeyondTheEnd", string_of_length(2049), {"length is 2049", "2048 bytes are left"}},
      {"A6_LongerThan16Mebibytes", string_of_length(16'777'217), {"16777217", "at most 16777216"}},
      {"A7_CountBeyondTheEnd", with_array(u32, 17), {"count is 17 (u32)", "64 bytes are left"}},
      {"A7_CountTimesSizeWraps", with_array(u32, uint64_t{1} << 62), {"4611686018427387904"}},
      {"A7_LargestCountBeyondTheEnd", with_array(u32, 67'108'864), {"67108864 (u32)", "64 bytes are left"}},
      {"A7_CountMinusOne", with_array(0, kMinusOne), {"18446744073709551615"}},
      {"A7_StringsBeyondTheEnd", with_array(string, 9), {"count is 9 (string)"}},
      {"A7_StringInArrayTooLong",
       raw().header(0, 1).array("a", string, 1).number<uint64_t>(50).zeros(8).bytes(),
       {"length is 50", "8 bytes are left"}},
      {"A7_ArrayOfArrays", with_array(9, 1), {"byte 37", "array of arrays"}},
      {"A7_MoreThan64Mi", with_array(0, 67'108'865), {"67108865", "at most 67108864"}},
      {"A8_Type13",
       raw().header(0, 1).string("k").number(13u).zeros(64).bytes(),
       {"byte 33", "value type is 13"}},
      {"A8_TypeMinusOne", raw().header(0, 1).string("k").number(~0u).zeros(64).bytes(), {"4294967295"}},
      {"A8_ElementType13", with_array(13, 1), {"element type is 13"}},
      {"A8_Bool2",
       raw().header(0, 1).key("b", ValueType::kBool).number<uint8_t>(2).bytes(),
       {"byte 37", "bool is 2", "expected 0 or 1"}},
      {"A8_BoolInArray",
       raw().header(0, 1).array("b", 7, 3).number<uint8_t>(1).number<uint8_t>(0).number<uint8_t>(255).bytes(),
       {"byte 51", "bool is 255"}},
      {"A10_Alignment0", with_alignment(0), {"\"general.alignment\" is 0", "power of two"}},
      {"A10_Alignment4", with_alignment(4), {"is 4,", "from 8"}},
      {"A10_Alignment13", with_alignment(13), {"is 13,", "power of two"}},
      {"A10_Alignment2To31", with_alignment(1u << 31), {"2147483648", "to 65536"}},
      {"A10_AlignmentOfTypeI32",
       raw().header(0, 1).key("general.alignment", ValueType::kInt32).number(32).bytes(),
       {"type i32", "expected u32"}},
      {"A10_AlignmentTwice",
       raw().header(0, 2).key_u32("general.alignment", 32).key_u32("general.alignment", 64).bytes(),
       {"general.alignment", "twice"}},
  };
}

class GgufBadMetadata : public testing::TestWithParam<BadFile> {};

TEST_P(GgufBadMetadata, IsRefused) {
  expect_refused(GetParam());
}
INSTANTIATE_TEST_SUITE_P(Header, GgufBadMetadata, testing::ValuesIn(bad_headers()), id_of);
INSTANTIATE_TEST_SUITE_P(Key, GgufBadMetadata, testing::ValuesIn(bad_keys()), id_of);
INSTANTIATE_TEST_SUITE_P(Value, GgufBadMetadata, testing::ValuesIn(bad_values()), id_of);

TEST(GgufMetadata, AnErrorShowsNoControlCharactersOfTheFile) {
  const BadFile bad = {
      "", raw().header(0, 1).string("a\x1b[31m\n").number(99u).zeros(8).bytes(), {"\\u{1b}"}};
  expect_refused(bad);
  const auto file = gguf::File::from_memory(bad.bytes, "bad.gguf");
  EXPECT_EQ(file.error().message.find('\x1b'), std::string::npos);
}

TEST(GgufMetadata, EveryAlignmentThatIsAllowedIsAccepted) {
  for (uint32_t alignment = gguf::kMinAlignment; alignment <= gguf::kMaxAlignment; alignment *= 2) {
    const auto bytes = with_alignment(alignment);
    const auto file = gguf::File::from_memory(bytes, "good.gguf");
    ASSERT_TRUE(file.ok()) << file.error().message;
    EXPECT_EQ(file->alignment(), alignment);
  }
}

TEST(GgufMetadata, VersionTwoIsAccepted) {
  const auto bytes = raw().header(0, 1, 2).key_u32("a", 7).bytes();
  const auto file = gguf::File::from_memory(bytes, "v2.gguf");
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->version(), 2u);
  EXPECT_EQ(*file->meta<uint32_t>("a"), 7u);
}

TEST(GgufMetadata, EmptyStringsAndArraysAreAccepted) {
  const auto bytes = raw().header(0, 3).key_string("s", "").array("a", 8, 0).array("b", 4, 0).bytes();
  const auto file = gguf::File::from_memory(bytes, "good.gguf");
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(*file->meta<std::string_view>("s"), "");
  EXPECT_EQ(file->meta_strings("a")->size(), 0u);
  EXPECT_TRUE(file->meta_array<uint32_t>("b")->empty());
}

// A9: a quadratic check for duplicates would not end within a test's patience.
TEST(GgufMetadata, AMillionKeysAreRead) {
  constexpr uint64_t kKeys = 1'000'000;
  RawGguf file_bytes;
  file_bytes.header(0, kKeys);
  for (uint64_t i = 0; i < kKeys; ++i) {
    file_bytes.key(std::to_string(i), ValueType::kUint8).number(static_cast<uint8_t>(i));
  }
  const auto file = gguf::File::from_memory(file_bytes.bytes(), "million.gguf");
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->metadata().size(), kKeys);
  EXPECT_EQ(*file->meta<uint32_t>("999999"), 999999u % 256);
  EXPECT_EQ(file->find("1000000"), nullptr);
}

}  // namespace
}  // namespace inferno::test
