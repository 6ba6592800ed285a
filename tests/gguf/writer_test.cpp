#include "gguf/writer.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>

#include "base/check.h"
#include "support/gguf_walk.h"
#include "support/shared_data.h"

namespace inferno::test {
namespace {

gguf::File reopen(const std::vector<std::byte>& bytes) {
  auto file = gguf::File::from_memory(bytes, "written.gguf");
  EXPECT_TRUE(file.ok()) << file.error().message;
  return std::move(file).value();
}

// Distinct, valid keys whatever `text` is.
std::string key_for(size_t index, const std::string& text) {
  std::string key = std::to_string(index) + ".";
  for (const char c : text) {
    if (c >= ' ' && c <= '~') key += c;
  }
  return key;
}

RC_GTEST_PROP(GgufWriter, ScalarsComeBack,
              (const std::vector<std::pair<std::string, uint64_t>>& numbers,
               const std::vector<std::string>& texts, bool flag, int32_t number)) {
  gguf::Writer writer;
  size_t index = 0;
  for (const auto& [key, value] : numbers) writer.add(key_for(index++, key), value);
  for (const std::string& text : texts) writer.add(key_for(index++, text), text);
  writer.add("flag", flag);
  writer.add("i32", number);
  writer.add("u32", static_cast<uint32_t>(number));
  writer.add("f32", static_cast<float>(number));
  writer.add("f64", static_cast<double>(number) / 3);
  const auto bytes = writer.bytes();
  const gguf::File file = reopen(bytes);
  RC_ASSERT(file.version() == 3u);
  RC_ASSERT(file.metadata().size() == numbers.size() + texts.size() + 5);
  index = 0;
  for (const auto& [key, value] : numbers) RC_ASSERT(*file.meta<uint64_t>(key_for(index++, key)) == value);
  for (const std::string& text : texts) {
    RC_ASSERT(*file.meta<std::string_view>(key_for(index++, text)) == std::string_view(text));
  }
  RC_ASSERT(*file.meta<bool>("flag") == flag);
  RC_ASSERT(*file.meta<int32_t>("i32") == number);
  RC_ASSERT(*file.meta<uint32_t>("u32") == static_cast<uint32_t>(number));
  RC_ASSERT(*file.meta<float>("f32") == static_cast<float>(number));
  RC_ASSERT(*file.meta<double>("f64") == static_cast<double>(number) / 3);
}

RC_GTEST_PROP(GgufWriter, ArraysComeBack,
              (const std::vector<std::string>& texts, const std::vector<int32_t>& ints,
               const std::vector<uint32_t>& words)) {
  std::vector<float> floats(ints.begin(), ints.end());
  gguf::Writer writer;
  writer.add("texts", std::span<const std::string>(texts));
  writer.add("ints", std::span<const int32_t>(ints));
  writer.add("words", std::span<const uint32_t>(words));
  writer.add("floats", std::span<const float>(floats));
  const auto bytes = writer.bytes();
  const gguf::File file = reopen(bytes);
  std::vector<std::string> found;
  const auto strings = file.meta_strings("texts");
  RC_ASSERT(strings.ok());
  for (const std::string_view text : *strings) found.emplace_back(text);
  RC_ASSERT(found == texts);
  RC_ASSERT(*file.meta_array<int32_t>("ints") == ints);
  RC_ASSERT(*file.meta_array<uint32_t>("words") == words);
  RC_ASSERT(*file.meta_array<float>("floats") == floats);
}

RC_GTEST_PROP(GgufWriter, TensorsComeBack, ()) {
  constexpr DType kTypes[] = {DType::kF32, DType::kF16, DType::kQ8_0, DType::kQ4_K, DType::kI8, DType::kF64};
  const auto alignment = *rc::gen::element<uint32_t>(8, 32, 64, 4096);
  const auto n_tensors = *rc::gen::inRange<size_t>(0, 12);
  struct Made {
    DType dtype;
    std::vector<int64_t> shape;
    std::vector<std::byte> data;
  };
  std::map<std::string, Made> made;
  gguf::Writer writer(alignment);
  for (size_t i = 0; i < n_tensors; ++i) {
    Made tensor;
    tensor.dtype = kTypes[*rc::gen::inRange<size_t>(0, std::size(kTypes))];
    const auto n_dims = *rc::gen::inRange<size_t>(1, 5);
    for (size_t d = 0; d < n_dims; ++d) tensor.shape.push_back(*rc::gen::inRange<int64_t>(1, 4));
    tensor.shape.back() *= traits(tensor.dtype).block_elems;
    int64_t elements = 1;
    for (const int64_t dim : tensor.shape) elements *= dim;
    tensor.data.resize(row_bytes(tensor.dtype, static_cast<size_t>(elements)), static_cast<std::byte>(i + 1));
    made[std::to_string(i)] = std::move(tensor);
  }
  for (const auto& [name, tensor] : made) writer.add_tensor(name, tensor.dtype, tensor.shape, tensor.data);
  const auto bytes = writer.bytes();
  const gguf::File file = reopen(bytes);
  RC_ASSERT(file.alignment() == alignment);
  RC_ASSERT(file.tensors().size() == made.size());
  RC_ASSERT(file.warnings().empty());
  for (const auto& [name, expected] : made) {
    const gguf::TensorInfo* info = file.find_tensor(name);
    RC_ASSERT(info != nullptr);
    RC_ASSERT(info->offset % alignment == 0u);
    RC_ASSERT(info->tensor.dtype == expected.dtype);
    const auto dims = std::span(info->tensor.shape).first(static_cast<size_t>(info->tensor.n_dims));
    RC_ASSERT(std::equal(dims.begin(), dims.end(), expected.shape.begin(), expected.shape.end()));
    RC_ASSERT(info->tensor.bytes() == expected.data.size());
    RC_ASSERT(std::equal(expected.data.begin(), expected.data.end(), info->tensor.as<const std::byte>()));
  }
}

TEST(GgufWriterFiles, AFileIsCopiedByteForByte) {
  REQUIRE_SHARED_DATA("golden/tiny-qwen3-q8_0.gguf");
  const std::string path = shared_data("golden/tiny-qwen3-q8_0.gguf").string();
  const auto file = gguf::File::open(path);
  ASSERT_TRUE(file.ok()) << file.error().message;
  gguf::Writer writer(static_cast<uint32_t>(file->alignment()));
  for (const auto& [key, value] : file->metadata()) writer.add(key, value);
  for (const gguf::TensorInfo& info : file->tensors()) {
    const Tensor& tensor = info.tensor;
    writer.add_tensor(info.name, tensor.dtype,
                      std::span(tensor.shape).first(static_cast<size_t>(tensor.n_dims)),
                      {tensor.as<const std::byte>(), tensor.bytes()});
  }
  const std::string original = read_file(path);
  const auto copied = std::as_bytes(std::span(original));
  const auto written = writer.bytes();
  EXPECT_TRUE(std::equal(written.begin(), written.end(), copied.begin(), copied.end()));
}

TEST(GgufWriterFiles, SaveWritesWhatBytesReturns) {
  const std::vector<float> data = {1, 2, 3};
  const std::vector<int64_t> shape = {3};
  gguf::Writer writer;
  writer.add("general.architecture", "test");
  writer.add_tensor("t", DType::kF32, shape, std::as_bytes(std::span(data)));
  const auto path = scratch_dir("gguf_writer") / "saved.gguf";
  ASSERT_TRUE(writer.save(path.string()).ok());
  const std::string saved = read_file(path);
  const auto expected = writer.bytes();
  const auto found = std::as_bytes(std::span(saved));
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), found.begin(), found.end()));
  const auto file = gguf::File::open(path.string());
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->find_tensor("t")->tensor.as<const float>()[2], 3.0f);
}

TEST(GgufWriterFiles, SaveIntoAFolderThatIsNotThereIsAnError) {
  const gguf::Writer writer;
  const Status status = writer.save((scratch_dir("gguf_writer") / "missing" / "a.gguf").string());
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kIo);
}

// Counts up from 0: enough elements for several windows, the last one not full.
constexpr int64_t kCounted = (int64_t{9} << 20) + 3;
Status count_up(uint64_t first_element, std::span<std::byte> out) {
  const size_t n = out.size() / sizeof(int32_t);
  for (size_t i = 0; i < n; ++i) {
    const auto value = static_cast<int32_t>(first_element + i);
    std::memcpy(out.data() + i * sizeof value, &value, sizeof value);
  }
  return {};
}

gguf::Writer counting_writer() {
  gguf::Writer writer;
  writer.add("general.architecture", "test");
  writer.add_tensor("before", DType::kI32, std::vector<int64_t>{1}, count_up);
  writer.add_tensor("counted", DType::kI32, std::vector<int64_t>{kCounted}, count_up);
  writer.add_tensor("after", DType::kI32, std::vector<int64_t>{3}, count_up);
  return writer;
}

TEST(GgufWriterSources, MakeDataWhenItIsWanted) {
  const gguf::Writer writer = counting_writer();
  auto built = writer.build("counted.gguf");
  ASSERT_TRUE(built.ok()) << built.error().message;
  const gguf::File file = std::move(*built);
  EXPECT_EQ(file.path(), "counted.gguf");
  EXPECT_EQ(file.file_bytes(), writer.total_bytes());
  EXPECT_TRUE(file.warnings().empty());
  const auto* counted = file.find_tensor("counted")->tensor.as<const int32_t>();
  for (int32_t i = 0; i < kCounted; ++i) ASSERT_EQ(counted[i], i);
  EXPECT_EQ(file.find_tensor("after")->tensor.as<const int32_t>()[2], 2);

  const auto path = scratch_dir("gguf_writer_sources") / "counted.gguf";
  ASSERT_TRUE(writer.save(path.string()).ok());
  const std::string saved = read_file(path);
  const auto bytes = writer.bytes();
  EXPECT_TRUE(std::ranges::equal(std::as_bytes(std::span(saved)), bytes));
  // The tensors of the built file stand in its bytes as they do in the saved one.
  EXPECT_EQ(std::memcmp(counted, bytes.data() + file.find_tensor("counted")->file_offset, kCounted * 4), 0);
}

TEST(GgufWriterSources, AnErrorOfOneIsTheErrorAndLeavesNoFile) {
  gguf::Writer writer = counting_writer();
  writer.add_tensor("never", DType::kF32, std::vector<int64_t>{4}, [](uint64_t, std::span<std::byte>) {
    return Status(Error{ErrorCode::kCancelled, "stopped"});
  });
  EXPECT_EQ(writer.build("x").error().message, "stopped");
  const auto folder = scratch_dir("gguf_writer_cancelled");
  const Status saved = writer.save((folder / "x.gguf").string());
  ASSERT_FALSE(saved.ok());
  EXPECT_EQ(saved.error().code, ErrorCode::kCancelled);
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST(GgufWriterSources, WhatDoesNotFitIntoMemoryIsRefusedBeforeItIsMade) {
  gguf::Writer writer;
  writer.add_tensor("vast", DType::kF32, std::vector<int64_t>{int64_t{1} << 30, int64_t{1} << 20},
                    [](uint64_t, std::span<std::byte>) -> Status {
                      ADD_FAILURE() << "asked for data";
                      return {};
                    });
  const auto file = writer.build("vast.gguf");
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().code, ErrorCode::kResource);
  EXPECT_NE(file.error().message.find("vast.gguf: needs 4.5 PB of memory, "), std::string::npos)
      << file.error().message;
}

TEST(GgufWriterMistakes, FailACheck) {
  const std::vector<std::byte> data(34);
  const auto add_tensor = [&](std::string_view name, DType dtype, std::vector<int64_t> shape) {
    gguf::Writer writer;
    writer.add_tensor(name, dtype, shape, data);
  };
  gguf::Writer writer;
  writer.add("twice", true);
  EXPECT_THROW(writer.add("twice", true), InternalError);
  EXPECT_THROW(writer.add("", true), InternalError);
  EXPECT_THROW(writer.add("general.alignment", uint32_t{64}), InternalError);
  EXPECT_THROW(gguf::Writer(13), InternalError);
  EXPECT_THROW(add_tensor("", DType::kQ8_0, {32}), InternalError);
  EXPECT_THROW(add_tensor(std::string(64, 'n'), DType::kQ8_0, {32}), InternalError);
  EXPECT_THROW(add_tensor("a/b", DType::kQ8_0, {32}), InternalError);
  EXPECT_THROW(add_tensor("t", DType::kQ8_0, {}), InternalError);
  EXPECT_THROW(add_tensor("t", DType::kQ8_0, {0, 32}), InternalError);
  EXPECT_THROW(add_tensor("t", DType::kQ8_0, {1, 1, 1, 1, 32}), InternalError);
  EXPECT_THROW(add_tensor("t", DType::kQ8_0, {16, 2}), InternalError);
  EXPECT_THROW(add_tensor("t", DType::kQ8_0, {64}), InternalError);
  EXPECT_THROW(add_tensor("t", DType::kF32, {INT64_MAX, INT64_MAX}), InternalError);
  EXPECT_NO_THROW(add_tensor("t", DType::kQ8_0, {32}));
}

}  // namespace
}  // namespace inferno::test
