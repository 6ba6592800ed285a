// Models in several files, and row A13 of the catalogue of bad inputs: shards that do not belong together.
#include "gguf/split.h"

#include <fmt/core.h>

#include <filesystem>

#include "gguf/bad_file.h"
#include "gguf/writer.h"
#include "support/gguf_walk.h"
#include "support/shared_data.h"

namespace inferno::test {
namespace {

namespace fs = std::filesystem;

struct Shard {
  uint32_t number = 0;
  uint32_t count = 3;
  int32_t n_tensors = 3;
  std::string_view architecture = {};
  std::string_view tensor = {};
};

void save(const fs::path& path, const Shard& shard) {
  const std::vector<float> data(8, static_cast<float>(shard.number));
  const std::vector<int64_t> shape = {8};
  gguf::Writer writer;
  if (!shard.architecture.empty()) writer.add("general.architecture", shard.architecture);
  writer.add("split.no", shard.number);
  writer.add("split.count", shard.count);
  writer.add("split.tensors.count", shard.n_tensors);
  writer.add_tensor(shard.tensor, DType::kF32, shape, std::as_bytes(std::span(data)));
  ASSERT_TRUE(writer.save(path.string()).ok());
}

class GgufSplit : public testing::Test {
 protected:
  // Three shards of one tensor each; a test spoils one of them.
  void SetUp() override {
    save(path(1), {.number = 0, .architecture = "test", .tensor = "t0"});
    save(path(2), {.number = 1, .tensor = "t1"});
    save(path(3), {.number = 2, .tensor = "t2"});
  }
  fs::path path(uint64_t number) const { return gguf::shard_path({(dir_ / "model").string(), number, 3}); }
  void expect_open_fails(const fs::path& given, const std::vector<std::string>& words) const {
    const auto file = gguf::File::open(given.string());
    ASSERT_FALSE(file.ok());
    expect_words(file.error(), words);
  }

  fs::path dir_ = scratch_dir("gguf_split");
};

TEST(GgufShardName, IsReadAndWritten) {
  const auto name = gguf::parse_shard_name("/models/a-b-00002-of-00013.gguf");
  ASSERT_TRUE(name.has_value());
  EXPECT_EQ(name->prefix, "/models/a-b");
  EXPECT_EQ(name->number, 2u);
  EXPECT_EQ(name->count, 13u);
  EXPECT_EQ(gguf::shard_path(*name), "/models/a-b-00002-of-00013.gguf");
}

TEST(GgufShardName, OtherNamesAreNone) {
  for (const char* path :
       {"", "model.gguf", "model-1-of-2.gguf", "model-00001-of-00002.bin", "00001-of-00002.gguf",
        "model-0000x-of-00002.gguf", "model-00001-of--0002.gguf", "model-00001of-00002.gguf"}) {
    EXPECT_FALSE(gguf::parse_shard_name(path).has_value()) << path;
  }
}

TEST_F(GgufSplit, AnyShardOpensAll) {
  for (uint64_t given = 1; given <= 3; ++given) {
    const auto file = gguf::File::open(path(given).string());
    ASSERT_TRUE(file.ok()) << file.error().message;
    EXPECT_EQ(file->n_shards(), 3u);
    EXPECT_EQ(file->path(), path(1).string());
    EXPECT_EQ(file->file_bytes(), fs::file_size(path(1)) + fs::file_size(path(2)) + fs::file_size(path(3)));
    EXPECT_EQ(*file->meta<std::string_view>("general.architecture"), "test");
    ASSERT_EQ(file->tensors().size(), 3u);
    for (size_t i = 0; i < 3; ++i) {
      const gguf::TensorInfo* info = file->find_tensor(fmt::format("t{}", i));
      ASSERT_NE(info, nullptr);
      EXPECT_EQ(info->shard, i);
      EXPECT_EQ(info->tensor.as<const float>()[7], static_cast<float>(i));
    }
    walk(*file);
  }
}

TEST_F(GgufSplit, A13_AMissingShardIsNamed) {
  fs::remove(path(2));
  expect_open_fails(path(1), {"model-00002-of-00003.gguf", "shard 2 of 3 is missing"});
  expect_open_fails(path(3), {"model-00002-of-00003.gguf", "shard 2 of 3 is missing"});
}

TEST_F(GgufSplit, A13_AShardTwiceIsRefused) {
  fs::remove(path(3));
  fs::create_hard_link(path(2), path(3));
  expect_open_fails(path(1), {"model-00003-of-00003.gguf", "\"split.no\" is 1", "expected 2"});
}

TEST_F(GgufSplit, A13_AShardOfAnotherModelIsRefused) {
  save(path(3), {.number = 2, .architecture = "other", .tensor = "t2"});
  expect_open_fails(path(1), {"model-00003-of-00003.gguf", "\"other\"", "expected \"test\""});
  save(path(3), {.number = 2, .n_tensors = 4, .tensor = "t2"});
  expect_open_fails(path(1), {"model-00003-of-00003.gguf", "\"split.tensors.count\" is 4", "expected 3"});
  save(path(3), {.number = 2, .tensor = "t0"});
  expect_open_fails(path(1), {"\"t0\"", "shard 3", "earlier shard"});
}

TEST_F(GgufSplit, A13_AnotherNumberOfShardsThanTheNameSaysIsRefused) {
  save(path(2), {.number = 1, .count = 4, .tensor = "t1"});
  expect_open_fails(path(1), {"model-00002-of-00003.gguf", "\"split.count\" is 4", "expected 3"});
  expect_open_fails(path(2), {"\"split.count\" is 4"});
}

TEST_F(GgufSplit, A13_TensorsThatDoNotAddUpAreRefused) {
  save(path(1), {.number = 0, .n_tensors = 5, .architecture = "test", .tensor = "t0"});
  save(path(2), {.number = 1, .n_tensors = 5, .tensor = "t1"});
  save(path(3), {.number = 2, .n_tensors = 5, .tensor = "t2"});
  expect_open_fails(path(1), {"hold 3 tensors", "expected 5"});
}

TEST_F(GgufSplit, A13_AWholeFileInAShardsPlaceIsRefused) {
  save(path(2), {.number = 0, .count = 1, .n_tensors = 1, .tensor = "t1"});
  expect_open_fails(path(1), {"model-00002-of-00003.gguf", "\"split.count\" is 1"});
}

TEST_F(GgufSplit, AShardUnderAnotherNameSaysWhatItsNameMustBe) {
  fs::rename(path(2), dir_ / "renamed.gguf");
  expect_open_fails(dir_ / "renamed.gguf", {"shard 2 of 3", "-00002-of-00003.gguf"});
}

TEST_F(GgufSplit, ADamagedShardIsNamed) {
  fs::resize_file(path(3), 100);
  expect_open_fails(path(1), {"model-00003-of-00003.gguf", "truncated"});
}

TEST_F(GgufSplit, AShardInMemoryIsRefused) {
  const std::string bytes = read_file(path(2));
  const auto file = gguf::File::from_memory(std::as_bytes(std::span(bytes)), "memory");
  ASSERT_FALSE(file.ok());
  expect_words(file.error(), {"memory", "shard 2 of 3"});
}

TEST_F(GgufSplit, ANegativeSplitCountIsRefused) {
  gguf::Writer writer;
  writer.add("split.count", int32_t{-2});
  ASSERT_TRUE(writer.save(path(1).string()).ok());
  expect_open_fails(path(1), {"\"split.count\"", "i32 -2"});
}

TEST_F(GgufSplit, AWholeFileMaySayThatItIsOneOfOne) {
  const fs::path whole = dir_ / "whole.gguf";
  save(whole, {.number = 0, .count = 1, .n_tensors = 1, .tensor = "t"});
  const auto file = gguf::File::open(whole.string());
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->n_shards(), 1u);
}

}  // namespace
}  // namespace inferno::test
