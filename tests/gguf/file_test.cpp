#include "gguf/file.h"

#include <sys/stat.h>

#include <filesystem>

#include "gguf/bad_file.h"
#include "gguf/writer.h"
#include "support/gguf_walk.h"
#include "support/shared_data.h"

namespace inferno::test {
namespace {

// A small file with something of everything.
std::vector<std::byte> small_file() {
  const std::vector<std::string> tokens = {"<unk>", "a", "b"};
  const std::vector<float> scores = {0, -1, -2};
  const std::vector<std::byte> floats(3 * 4), blocks(2 * 34);
  const std::vector<int64_t> floats_shape = {3}, blocks_shape = {2, 32};
  gguf::Writer writer;
  writer.add("general.architecture", "test");
  writer.add("test.block_count", uint32_t{2});
  writer.add("test.flag", true);
  writer.add("tokens", std::span<const std::string>(tokens));
  writer.add("scores", std::span<const float>(scores));
  writer.add_tensor("norm.weight", DType::kF32, floats_shape, floats);
  writer.add_tensor("output.weight", DType::kQ8_0, blocks_shape, blocks);
  return writer.bytes();
}

void expect_open_fails(const std::filesystem::path& path, const std::vector<std::string>& words) {
  const auto file = gguf::File::open(path.string());
  ASSERT_FALSE(file.ok()) << path;
  EXPECT_TRUE(file.error().message.starts_with(path.string())) << file.error().message;
  expect_words(file.error(), words);
}

TEST(GgufFile, OpenMapsAFile) {
  const auto path = scratch_dir("gguf_file") / "small.gguf";
  write_file(path, small_file());
  auto opened = gguf::File::open(path.string());
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  const gguf::File file = std::move(opened).value();
  EXPECT_EQ(file.path(), path.string());
  EXPECT_EQ(file.version(), 3u);
  EXPECT_EQ(file.alignment(), 32u);
  EXPECT_EQ(file.n_shards(), 1u);
  EXPECT_EQ(file.file_bytes(), small_file().size());
  EXPECT_EQ(file.metadata().size(), 5u);
  EXPECT_EQ(file.metadata()[1].key, "test.block_count");
  EXPECT_EQ(file.tensors()[1].name, "output.weight");
  EXPECT_EQ(file.tensors()[1].offset, 32u);
  EXPECT_EQ(file.tensors()[1].file_offset, file.data_offset() + 32);
  EXPECT_EQ(file.find("test"), nullptr);
  EXPECT_EQ(file.find_tensor("norm"), nullptr);
  EXPECT_TRUE(file.warnings().empty());
  walk(file);
}

TEST(GgufFile, A2_WhatIsNoRegularFileIsRefusedWithoutBlocking) {
  const auto dir = scratch_dir("gguf_file");
  const auto fifo = dir / "fifo.gguf";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  expect_open_fails(dir, {"directory"});
  expect_open_fails(fifo, {"FIFO"});
  expect_open_fails("/dev/zero", {"device"});
  expect_open_fails(dir / "none.gguf", {"no such file"});
}

TEST(GgufFile, A1_EmptyFileIsRefused) {
  const auto path = scratch_dir("gguf_file") / "empty.gguf";
  write_file(path, {});
  expect_open_fails(path, {"empty"});
}

// Every prefix, in a block of memory of exactly its size, so that a sanitizer sees one byte too many.
TEST(GgufFile, A1_EveryTruncationIsRefused) {
  std::vector<std::byte> whole = small_file();
  whole.resize(gguf::File::from_memory(whole, "whole").value().data_offset() + 32 + 2 * 34);
  ASSERT_TRUE(gguf::File::from_memory(whole, "whole").ok());
  for (size_t size = 0; size < whole.size(); ++size) {
    const std::vector<std::byte> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    const auto file = gguf::File::from_memory(cut, "cut.gguf");
    ASSERT_FALSE(file.ok()) << size << " of " << whole.size() << " bytes were accepted";
    ASSERT_TRUE(file.error().message.find("truncated") != std::string::npos || size == 0)
        << file.error().message;
  }
}

TEST(GgufFile, EveryBitFlipIsRefusedOrHarmless) {
  const std::vector<std::byte> good = small_file();
  size_t accepted = 0;
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::vector<std::byte> flipped = good;
    flipped[bit / 8] ^= std::byte{1} << (bit % 8);
    const auto file = gguf::File::from_memory(flipped, "flipped.gguf");
    if (!file.ok()) continue;
    ++accepted;
    walk(*file);
  }
  EXPECT_GT(accepted, 0u);  // flips in values and data
  EXPECT_LT(accepted, good.size() * 8);
}

TEST(GgufFile, AMovedFileStillFindsItsNames) {
  const auto bytes = small_file();
  auto first = gguf::File::from_memory(bytes, "small.gguf");
  ASSERT_TRUE(first.ok());
  const gguf::File second = std::move(first).value();
  EXPECT_EQ(*second.meta<uint32_t>("test.block_count"), 2u);
  EXPECT_NE(second.find_tensor("norm.weight"), nullptr);
}

TEST(GgufFile, EveryModelOfTheSharedDataOpens) {
  REQUIRE_SHARED_DATA("golden/golden.json");
  size_t opened = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(shared_data(""))) {
    if (entry.path().extension() != ".gguf") continue;
    const auto file = gguf::File::open(entry.path().string());
    ASSERT_TRUE(file.ok()) << file.error().message;
    EXPECT_TRUE(file->warnings().empty()) << file->warnings()[0];
    EXPECT_TRUE(file->meta<std::string_view>("general.architecture").ok());
    walk(*file);
    ++opened;
  }
  EXPECT_GT(opened, 20u);
}

}  // namespace
}  // namespace inferno::test
