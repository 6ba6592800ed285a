#include <array>
#include <cmath>
#include <limits>
#include <span>

#include "gguf/bad_file.h"
#include "gguf/writer.h"

namespace inferno::test {
namespace {

using gguf::ValueType;

// One key of every type.
std::vector<std::byte> every_type() {
  RawGguf raw;
  raw.header(0, 16);
  raw.key("u8", ValueType::kUint8).number<uint8_t>(200);
  raw.key("i8", ValueType::kInt8).number<int8_t>(-5);
  raw.key("u16", ValueType::kUint16).number<uint16_t>(60000);
  raw.key("i16", ValueType::kInt16).number<int16_t>(-300);
  raw.key("u32", ValueType::kUint32).number<uint32_t>(4'000'000'000);
  raw.key("i32", ValueType::kInt32).number<int32_t>(-70000);
  raw.key("u64", ValueType::kUint64).number<uint64_t>(uint64_t{1} << 63);
  raw.key("i64", ValueType::kInt64).number<int64_t>(-1);
  raw.key("f32", ValueType::kFloat32).number(0.5f);
  raw.key("f64", ValueType::kFloat64).number(1e-6);
  raw.key("bool", ValueType::kBool).number<uint8_t>(1);
  raw.key_string("string", "h\xc3\xa9llo");
  raw.array("ints", static_cast<uint32_t>(ValueType::kInt16), 3).number<int16_t>(1).number<int16_t>(-2);
  raw.number<int16_t>(3);
  raw.array("floats", static_cast<uint32_t>(ValueType::kFloat32), 2).number(1.5f).number(-2.5f);
  raw.array("strings", static_cast<uint32_t>(ValueType::kString), 3).string("a").string("").string("ccc");
  raw.array("bools", static_cast<uint32_t>(ValueType::kBool), 2).number<uint8_t>(1).number<uint8_t>(0);
  return raw.bytes();
}

class GgufValue : public testing::Test {
 protected:
  std::vector<std::byte> bytes_ = every_type();
  gguf::File file_ = gguf::File::from_memory(bytes_, "values.gguf").value();
};

template <class T>
void expect_refused_value(const Result<T>& result, std::initializer_list<std::string> words) {
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::kInvalidFile);
  expect_words(result.error(), words);
}

TEST_F(GgufValue, EveryTypeReadsAsItself) {
  EXPECT_EQ(*file_.meta<uint8_t>("u8"), 200);
  EXPECT_EQ(*file_.meta<int8_t>("i8"), -5);
  EXPECT_EQ(*file_.meta<uint16_t>("u16"), 60000);
  EXPECT_EQ(*file_.meta<int16_t>("i16"), -300);
  EXPECT_EQ(*file_.meta<uint32_t>("u32"), 4'000'000'000u);
  EXPECT_EQ(*file_.meta<int32_t>("i32"), -70000);
  EXPECT_EQ(*file_.meta<uint64_t>("u64"), uint64_t{1} << 63);
  EXPECT_EQ(*file_.meta<int64_t>("i64"), -1);
  EXPECT_EQ(*file_.meta<float>("f32"), 0.5f);
  EXPECT_EQ(*file_.meta<double>("f64"), 1e-6);
  EXPECT_EQ(*file_.meta<bool>("bool"), true);
  EXPECT_EQ(*file_.meta<std::string_view>("string"), "h\xc3\xa9llo");
}

TEST_F(GgufValue, IntegersConvertWhenTheyFit) {
  EXPECT_EQ(*file_.meta<uint64_t>("u8"), 200u);
  EXPECT_EQ(*file_.meta<int16_t>("u8"), 200);
  EXPECT_EQ(*file_.meta<int64_t>("u32"), 4'000'000'000);
  EXPECT_EQ(*file_.meta<int8_t>("i8"), -5);
}

TEST_F(GgufValue, A11_IntegersThatDoNotFitAreRefused) {
  expect_refused_value(file_.meta<int8_t>("u8"), {"\"u8\"", "fits i8", "u8 200"});
  expect_refused_value(file_.meta<uint32_t>("i64"), {"\"i64\"", "fits u32", "i64 -1"});
  expect_refused_value(file_.meta<uint32_t>("u64"), {"9223372036854775808"});
  expect_refused_value(file_.meta<int64_t>("u64"), {"fits i64"});
}

TEST_F(GgufValue, A11_AnotherKindOfTypeIsRefused) {
  expect_refused_value(file_.meta<uint32_t>("f32"), {"fits u32", "f32 0.5"});
  expect_refused_value(file_.meta<float>("u32"), {"f32 or f64", "u32 4000000000"});
  expect_refused_value(file_.meta<bool>("u8"), {"expected bool", "u8 200"});
  expect_refused_value(file_.meta<uint32_t>("bool"), {"bool true"});
  expect_refused_value(file_.meta<std::string_view>("u8"), {"expected string"});
  expect_refused_value(file_.meta<uint32_t>("ints"), {"array of 3 i16"});
  expect_refused_value(file_.meta<float>("string"), {"string"});
}

TEST_F(GgufValue, A11_AMissingKeyIsNamed) {
  expect_refused_value(file_.meta<uint32_t>("qwen3.block_count"),
                       {"values.gguf", "\"qwen3.block_count\" is missing"});
  expect_refused_value(file_.meta_strings("no.strings"), {"\"no.strings\" is missing"});
  expect_refused_value(file_.meta_array<float>("no.floats"), {"\"no.floats\" is missing"});
}

TEST_F(GgufValue, OptionalKeysMayBeMissingButNotWrong) {
  EXPECT_EQ(*file_.meta_optional<uint32_t>("nothing"), std::nullopt);
  EXPECT_EQ(*file_.meta_optional<uint32_t>("u16"), 60000u);
  expect_refused_value(file_.meta_optional<uint32_t>("string"), {"\"string\""});
}

TEST_F(GgufValue, FloatsConvertBothWays) {
  EXPECT_EQ(*file_.meta<double>("f32"), 0.5);
  EXPECT_EQ(*file_.meta<float>("f64"), 1e-6f);
}

TEST_F(GgufValue, ElementsAreFoundInTheFile) {
  const auto text_at = [&](uint64_t offset, size_t n) {
    return std::string(reinterpret_cast<const char*>(bytes_.data() + offset), n);
  };
  const gguf::Value& strings = *file_.find("strings");
  EXPECT_EQ(text_at(gguf::element_offset(strings, 2) + 8, 3), "ccc");
  EXPECT_EQ(gguf::element_offset(strings, 1), strings.offset + 8 + 1);
  const gguf::Value& ints = *file_.find("ints");
  EXPECT_EQ(gguf::element_offset(ints, 0), ints.offset);
  EXPECT_EQ(text_at(gguf::element_offset(ints, 1), 2), "\xfe\xff");
}

TEST_F(GgufValue, ArraysConvertEachElement) {
  EXPECT_EQ(*file_.meta_array<int32_t>("ints"), (std::vector<int32_t>{1, -2, 3}));
  EXPECT_EQ(*file_.meta_array<float>("floats"), (std::vector<float>{1.5f, -2.5f}));
  EXPECT_EQ(*file_.meta_array<bool>("bools"), (std::vector<bool>{true, false}));
  EXPECT_EQ(*file_.meta_array<uint64_t>("u16"), (std::vector<uint64_t>{60000}));
  expect_refused_value(file_.meta_array<uint32_t>("ints"), {"fits u32", "i16 -2", "element 1"});
  std::array<int32_t, 3> three = {};
  ASSERT_TRUE(file_.meta_array_to<int32_t>("ints", three).ok());
  EXPECT_EQ(three, (std::array<int32_t, 3>{1, -2, 3}));
  expect_refused_value(file_.meta_array_to<int32_t>("ints", std::span(three).first(2)),
                       {"an array of 2 elements", "array of 3 i16"});
  expect_refused_value(file_.meta_array_to<int32_t>("strings", three), {"array of 3 string"});
  expect_refused_value(file_.meta_array_to<int32_t>("no.ints", three), {"\"no.ints\" is missing"});
  expect_refused_value(file_.meta_array<float>("strings"), {"array of 3 string"});
  expect_refused_value(file_.meta_array<float>("ints"), {"f32 or f64"});
}

TEST_F(GgufValue, StringsAreWalkedInOrder) {
  std::vector<std::string_view> found;
  const auto strings = file_.meta_strings("strings");
  ASSERT_TRUE(strings.ok());
  for (const std::string_view text : *strings) found.push_back(text);
  EXPECT_EQ(found, (std::vector<std::string_view>{"a", "", "ccc"}));
  EXPECT_EQ(strings->size(), 3u);
  expect_refused_value(file_.meta_strings("string"), {"array of strings", "found string"});
  expect_refused_value(file_.meta_strings("ints"), {"array of 3 i16"});
}

class GgufNotFinite : public testing::TestWithParam<double> {};

TEST_P(GgufNotFinite, A12_IsRefused) {
  const auto bytes = RawGguf()
                         .header(0, 3)
                         .key("f32", ValueType::kFloat32)
                         .number(static_cast<float>(GetParam()))
                         .key("f64", ValueType::kFloat64)
                         .number(GetParam())
                         .array("floats", static_cast<uint32_t>(ValueType::kFloat32), 2)
                         .number(1.0f)
                         .number(static_cast<float>(GetParam()))
                         .bytes();
  const auto file = gguf::File::from_memory(bytes, "values.gguf");
  ASSERT_TRUE(file.ok()) << file.error().message;
  expect_refused_value(file->meta<float>("f32"), {"finite", "\"f32\""});
  expect_refused_value(file->meta<double>("f64"), {"finite", "\"f64\""});
  expect_refused_value(file->meta<float>("f64"), {"finite"});
  expect_refused_value(file->meta_array<float>("floats"), {"finite", "element 1"});
}
INSTANTIATE_TEST_SUITE_P(Float, GgufNotFinite,
                         testing::Values(std::nan(""), std::numeric_limits<double>::infinity(),
                                         -std::numeric_limits<double>::infinity()));

TEST(GgufValueRange, ADoubleBeyondFloatIsRefusedAsFloat) {
  gguf::Writer writer;
  writer.add("big", 1e300);
  const auto bytes = writer.bytes();
  const auto file = gguf::File::from_memory(bytes, "values.gguf");
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(*file->meta<double>("big"), 1e300);
  expect_refused_value(file->meta<float>("big"), {"1e+300"});
}

}  // namespace
}  // namespace inferno::test
