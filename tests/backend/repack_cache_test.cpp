#include "backend/repack_cache.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

#include "support/shared_data.h"

namespace inferno::backend {
namespace {

const RepackKey kKey = {"avx2 panels 1", 1, 2, 3, 4};
const Tensor kMatrix = {.dtype = DType::kQ8_0, .n_dims = 2, .shape = {4, 32}};

class RepackCacheTest : public testing::Test {
 protected:
  // What a backend does that finds nothing.
  void add(RepackCache& cache, const std::string& name) {
    EXPECT_EQ(cache.find(name, kMatrix, bytes_->size()), nullptr);
    cache.add(name, kMatrix, *bytes_, bytes_);
  }
  void save() {
    RepackCache cache(path_, kKey);
    add(cache, "a");
    add(cache, "b");
    cache.set_weights_are_finite();
    ASSERT_TRUE(cache.save());
  }

  std::filesystem::path folder_ = test::scratch_dir("repack_cache");
  std::string path_ = (folder_ / "made" / "model.repack").string();
  std::shared_ptr<std::vector<std::byte>> bytes_ =
      std::make_shared<std::vector<std::byte>>(4 * 34, std::byte{7});
};

TEST_F(RepackCacheTest, FindsWhatAnEarlierOneHasSaved) {
  RepackCache first(path_, kKey);
  EXPECT_FALSE(first.is_open());
  EXPECT_EQ(first.rejection(), "");
  save();
  std::shared_ptr<const std::byte> found;
  {
    RepackCache second(path_, kKey);
    EXPECT_TRUE(second.is_open());
    EXPECT_TRUE(second.weights_are_finite());
    found = second.find("a", kMatrix, bytes_->size());
  }
  std::filesystem::remove(path_);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(std::memcmp(found.get(), bytes_->data(), bytes_->size()), 0) << "it outlives cache and name";
}

TEST_F(RepackCacheTest, FindsNothingThatIsNotAsWanted) {
  save();
  RepackCache cache(path_, kKey);
  EXPECT_EQ(cache.find("c", kMatrix, bytes_->size()), nullptr);
  EXPECT_EQ(cache.find("a", kMatrix, bytes_->size() + 1), nullptr);
  Tensor other = kMatrix;
  other.dtype = DType::kQ4_0;
  EXPECT_EQ(cache.find("a", other, bytes_->size()), nullptr);
  other = kMatrix;
  other.shape = {2, 64};
  EXPECT_EQ(cache.find("a", other, bytes_->size()), nullptr);
}

TEST_F(RepackCacheTest, IsWrittenOnlyWhenThereIsSomethingNew) {
  save();
  const auto written = std::filesystem::last_write_time(path_);
  const auto longer_ago = written - std::chrono::hours(1);
  std::filesystem::last_write_time(path_, longer_ago);
  RepackCache again(path_, kKey);
  EXPECT_NE(again.find("a", kMatrix, bytes_->size()), nullptr);
  ASSERT_TRUE(again.save());
  EXPECT_EQ(std::filesystem::last_write_time(path_), longer_ago);
  add(again, "c");
  ASSERT_TRUE(again.save());
  RepackCache last(path_, kKey);
  EXPECT_NE(last.find("a", kMatrix, bytes_->size()), nullptr);
  EXPECT_EQ(last.find("b", kMatrix, bytes_->size()), nullptr) << "nobody asked for it";
  EXPECT_NE(last.find("c", kMatrix, bytes_->size()), nullptr);
}

TEST_F(RepackCacheTest, SaysWhyAFileIsNotUsed) {
  save();
  RepackKey other = kKey;
  other.modified = 9;
  RepackCache stale(path_, other);
  EXPECT_FALSE(stale.is_open());
  EXPECT_FALSE(stale.weights_are_finite());
  EXPECT_EQ(stale.rejection(), path_ + ": the model was written anew");
  add(stale, "a");
  ASSERT_TRUE(stale.save());
  EXPECT_TRUE(RepackCache(path_, other).is_open()) << "the new one has taken its place";
}

TEST_F(RepackCacheTest, KeepsOtherBytesBesideMatrices) {
  const std::vector<std::byte> other(100, std::byte{3}), newer(7, std::byte{4});
  RepackCache first(path_, kKey);
  EXPECT_TRUE(first.find_bytes("other").empty());
  first.add_bytes("other", other);
  ASSERT_TRUE(first.save());
  EXPECT_FALSE(std::filesystem::exists(path_)) << "alone they are not worth a file";
  add(first, "a");
  ASSERT_TRUE(first.save());
  {
    RepackCache second(path_, kKey);
    EXPECT_TRUE(second.find_bytes("a").empty()) << "a matrix";
    const auto found = second.find_bytes("other");
    EXPECT_TRUE(std::equal(found.begin(), found.end(), other.begin(), other.end()));
    EXPECT_NE(second.find("a", kMatrix, bytes_->size()), nullptr);
    EXPECT_FALSE(second.has_news());
    EXPECT_EQ(second.find_bytes("other").size(), other.size()) << "asked for twice it is kept once";
    second.add_bytes("other", newer);
    ASSERT_TRUE(second.save());
    add(second, "b");
    ASSERT_TRUE(second.save()) << "what was added is still there";
  }
  RepackCache third(path_, kKey);
  const auto found = third.find_bytes("other");
  EXPECT_TRUE(std::equal(found.begin(), found.end(), newer.begin(), newer.end()));
  EXPECT_NE(third.find("a", kMatrix, bytes_->size()), nullptr);
}

TEST_F(RepackCacheTest, AFolderThatCannotBeMadeIsAnError) {
  const std::string file = (folder_ / "file").string();
  std::ofstream(file) << "x";
  RepackCache cache(file + "/model.repack", kKey);
  add(cache, "a");
  const Status saved = cache.save();
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().code, ErrorCode::kIo);
  EXPECT_EQ(test::read_file(file), "x");
}

TEST_F(RepackCacheTest, GivesUpWhenAskedAndLeavesNothing) {
  RepackCache cache(path_, kKey);
  add(cache, "a");
  EXPECT_EQ(cache.save({}, [] { return true; }).error().code, ErrorCode::kCancelled);
  EXPECT_TRUE(std::filesystem::is_empty(folder_ / "made"));
  EXPECT_TRUE(cache.save()) << "later it may";
}

TEST_F(RepackCacheTest, RemovesWhatAKilledWriterHasLeft) {
  std::filesystem::create_directories(folder_ / "made");
  const auto touch = [&](const std::string& name) {
    std::ofstream(folder_ / "made" / name) << "half";
    return folder_ / "made" / name;
  };
  const auto of_the_dead = touch(fmt::format("model.repack.{}-0.tmp", std::numeric_limits<pid_t>::max()));
  const auto of_ours = touch(fmt::format("model.repack.{}-77.tmp", ::getpid()));
  const auto of_another = touch(fmt::format("other.repack.{}-0.tmp", std::numeric_limits<pid_t>::max()));
  save();
  EXPECT_FALSE(std::filesystem::exists(of_the_dead));
  EXPECT_TRUE(std::filesystem::exists(of_ours));
  EXPECT_TRUE(std::filesystem::exists(of_another));
}

}  // namespace
}  // namespace inferno::backend
