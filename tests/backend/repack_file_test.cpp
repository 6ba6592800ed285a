#include "backend/repack_file.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/content_hash.h"
#include "support/shared_data.h"

namespace inferno::backend {
namespace {

// Where things stand in the file.
constexpr size_t kFormatVersion = 8;
constexpr size_t kFileBytes = 16;
constexpr size_t kMatrices = 24;
constexpr size_t kDirectoryBytes = 32;
constexpr size_t kHash = 40;
constexpr size_t kLayout = 48;
constexpr size_t kDirectory = 128;  // the first matrix
constexpr size_t kOffset = 0, kBytes = 8, kShape = 24, kNameBytes = 44;
constexpr size_t kName = 48;

const RepackKey kKeyOfFile = {"avx2 panels 1", 1, 2, 3, 4};

std::vector<std::byte> some_bytes(size_t n, int seed) {
  std::vector<std::byte> bytes(n);
  for (size_t i = 0; i < n; ++i) bytes[i] = static_cast<std::byte>(i * 7 + static_cast<size_t>(seed));
  return bytes;
}

class RepackFileTest : public testing::Test {
 protected:
  void SetUp() override { write(); }

  void write() const {
    const std::vector<RepackedMatrix> matrices = {{"blk.0.attn_q.weight", DType::kQ8_0, 4, 32, first_},
                                                  {"b", DType::kF16, 1, 2, second_},
                                                  {"c", DType::kF32, 7, 9, third_}};
    const Status status = write_repack_file(path_, kKeyOfFile, true, matrices);
    ASSERT_TRUE(status) << status.error().message;
  }
  std::string read() const { return test::read_file(path_); }
  void overwrite(const std::string& text) const {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << text;
  }
  // Why the file is refused, or "".
  std::string refusal(const RepackKey& key = kKeyOfFile) const {
    const auto file = RepackFile::open(path_, key);
    if (file) return "";
    EXPECT_TRUE(file.error().message.starts_with(path_ + ": ")) << file.error().message;
    return file.error().message.substr(path_.size() + 2);
  }
  // The same of the good file after a change that hides behind the right hash.
  std::string refusal_after(size_t at, uint64_t value, size_t n_bytes = 8) const {
    write();
    std::string text = read();
    std::memcpy(text.data() + at, &value, n_bytes);
    rehash(text);
    overwrite(text);
    return refusal();
  }
  static void rehash(std::string& text) {
    uint64_t directory_bytes = 0;
    std::memcpy(&directory_bytes, text.data() + kDirectoryBytes, 8);
    std::memset(text.data() + kHash, 0, 8);
    const auto bytes = std::as_bytes(std::span(text));
    const size_t n = std::min<size_t>(directory_bytes, text.size() - kDirectory);
    const std::array<uint64_t, 2> hashes = {content_hash(bytes.first(kDirectory)),
                                            content_hash(bytes.subspan(kDirectory, n))};
    const uint64_t hash = content_hash(std::as_bytes(std::span(hashes)));
    std::memcpy(text.data() + kHash, &hash, 8);
  }

  std::filesystem::path folder_ = test::scratch_dir("repack_file");
  std::string path_ = (folder_ / "model.repack").string();
  std::vector<std::byte> first_ = some_bytes(5000, 1), second_ = some_bytes(64, 2),
                         third_ = some_bytes(128, 3);
};

TEST_F(RepackFileTest, GivesBackWhatWasWritten) {
  const auto file = RepackFile::open(path_, kKeyOfFile);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_TRUE(file->weights_are_finite());
  ASSERT_EQ(file->matrices().size(), 3u);
  const RepackedMatrix& first = file->matrices()[0];
  EXPECT_EQ(first.name, "blk.0.attn_q.weight");
  EXPECT_EQ(first.dtype, DType::kQ8_0);
  EXPECT_EQ(first.rows, 4);
  EXPECT_EQ(first.cols, 32);
  const std::array all = {&first_, &second_, &third_};
  for (size_t i = 0; i < all.size(); ++i) {
    const auto bytes = file->matrices()[i].bytes;
    ASSERT_EQ(bytes.size(), all[i]->size());
    EXPECT_EQ(std::memcmp(bytes.data(), all[i]->data(), bytes.size()), 0);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(bytes.data()) % 64, 0u);
  }
  EXPECT_TRUE(file->check());
}

TEST_F(RepackFileTest, WhatIsNoMatrixIsWhole) {
  const auto write_both = [&] {
    const std::vector<RepackedMatrix> both = {{"a", DType::kQ8_0, 4, 32, first_},
                                              {"other", std::nullopt, 1, 64, second_}};
    ASSERT_TRUE(write_repack_file(path_, kKeyOfFile, true, both));
  };
  write_both();
  const auto file = RepackFile::open(path_, kKeyOfFile);
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_EQ(file->matrices().size(), 2u);
  EXPECT_EQ(file->matrices()[1].dtype, std::nullopt);
  EXPECT_EQ(std::memcmp(file->matrices()[1].bytes.data(), second_.data(), second_.size()), 0);
  EXPECT_TRUE(file->check());
  EXPECT_TRUE(file->check_all_but_matrices());
  const std::string good = read();
  for (size_t i = 1; i <= second_.size(); ++i) {
    std::string damaged = good;
    damaged[damaged.size() - i] ^= 4;
    overwrite(damaged);
    const auto opened = RepackFile::open(path_, kKeyOfFile);
    ASSERT_TRUE(opened) << opened.error().message;
    const Status checked = opened->check_all_but_matrices();
    ASSERT_FALSE(checked) << i;
    ASSERT_EQ(checked.error().message,
              path_ + ": \"other\": its bytes are damaged; remove the file, it is made anew");
    ASSERT_FALSE(opened->check()) << i;
  }
  std::string damaged = good;
  damaged[good.size() - 4096] ^= 4;  // of the matrix
  overwrite(damaged);
  EXPECT_TRUE(RepackFile::open(path_, kKeyOfFile)->check_all_but_matrices());
}

TEST_F(RepackFileTest, WhatIsNoMatrixHasTheShapeOfItsBytes) {
  for (const auto& [rows, cols] : {std::pair<int64_t, int64_t>(2, 32), {1, 63}}) {
    const Status written = write_repack_file(
        path_, kKeyOfFile, true, std::vector<RepackedMatrix>{{"other", std::nullopt, rows, cols, second_}});
    ASSERT_FALSE(written);
    EXPECT_NE(written.error().message.find("entry 0: it is no matrix, and its shape not that of its bytes"),
              std::string::npos)
        << written.error().message;
  }
}

TEST_F(RepackFileTest, MayHoldNothing) {
  ASSERT_TRUE(write_repack_file(path_, kKeyOfFile, false, {}));
  const auto file = RepackFile::open(path_, kKeyOfFile);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_TRUE(file->matrices().empty());
  EXPECT_FALSE(file->weights_are_finite());
}

TEST_F(RepackFileTest, IsGoodForItsKeyAlone) {
  const auto refusal_of = [&](auto change) {
    RepackKey key = kKeyOfFile;
    change(key);
    return refusal(key);
  };
  EXPECT_EQ(refusal(), "");
  EXPECT_EQ(refusal_of([](RepackKey& key) { key.layout = "avx2 panels 2"; }),
            "expected weights repacked for \"avx2 panels 2\", found \"avx2 panels 1\"");
  EXPECT_EQ(refusal_of([](RepackKey& key) { key.layout = "avx512 panels 1"; }),
            "expected weights repacked for \"avx512 panels 1\", found \"avx2 panels 1\"");
  EXPECT_EQ(refusal_of([](RepackKey& key) { ++key.sizes; }), "the model's size has changed");
  EXPECT_EQ(refusal_of([](RepackKey& key) { ++key.modified; }), "the model was written anew");
  EXPECT_EQ(refusal_of([](RepackKey& key) { ++key.headers; }), "the model's header has changed");
  EXPECT_EQ(refusal_of([](RepackKey& key) { ++key.samples; }), "the model's weights have changed");
}

TEST_F(RepackFileTest, OfEveryOtherLengthItIsRefused) {
  const std::string good = read();
  overwrite(good + "x");
  EXPECT_NE(refusal(), "");
  overwrite(good);
  for (size_t length = good.size(); length-- > 0;) {
    std::filesystem::resize_file(path_, length);
    ASSERT_NE(refusal(), "") << length;
  }
}

TEST_F(RepackFileTest, EveryBitOfHeaderAndDirectoryCounts) {
  const std::string good = read();
  uint64_t directory_bytes = 0;
  std::memcpy(&directory_bytes, good.data() + kDirectoryBytes, 8);
  ASSERT_EQ(directory_bytes, 3 * kName + 19 + 1 + 1);
  for (size_t bit = 0; bit < (kDirectory + directory_bytes) * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    overwrite(bad);
    ASSERT_NE(refusal(), "") << bit;
  }
}

TEST_F(RepackFileTest, CheckFindsEveryDamagedMatrix) {
  const std::string good = read();
  const auto damaged = [&](size_t at) -> std::string {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 1);
    overwrite(bad);
    const auto file = RepackFile::open(path_, kKeyOfFile);
    if (!file) return file.error().message;
    const Status checked = file->check();
    return checked ? "" : checked.error().message;
  };
  for (const auto& [at, name] :
       {std::pair(size_t{4096}, "blk.0.attn_q.weight"), std::pair(size_t{4096 + 4999}, "blk.0.attn_q.weight"),
        std::pair(size_t{3 * 4096}, "b"), std::pair(good.size() - 1, "c")}) {
    const std::string message = damaged(at);
    EXPECT_NE(message.find("matrix \"" + std::string(name) + "\": its bytes are damaged"), std::string::npos)
        << at << ": " << message;
  }
}

TEST_F(RepackFileTest, HostileFilesAreRefused) {
  EXPECT_EQ(refusal_after(0, 0x1122334455667788), "is no repack cache");
  EXPECT_EQ(refusal_after(kFormatVersion, 3, 4), "expected version 2 of the format, found 3");
  EXPECT_NE(refusal_after(kFileBytes, ~uint64_t{0}), "");
  for (const uint64_t n : {uint64_t{0}, uint64_t{2}, uint64_t{4}, uint64_t{1} << 32, ~uint64_t{0}}) {
    EXPECT_NE(refusal_after(kMatrices, n), "") << n;
  }
  for (const uint64_t n : {uint64_t{0}, uint64_t{1}, uint64_t{kName}, uint64_t{1} << 63, ~uint64_t{0}}) {
    EXPECT_NE(refusal_after(kDirectoryBytes, n), "") << n;
  }
  EXPECT_NE(refusal_after(kLayout, 0x1b1b1b1b1b1b1b1b), "");
  EXPECT_EQ(refusal_after(kLayout, 0x1b1b1b1b1b1b1b1b).find('\x1b'), std::string::npos) << "it is escaped";
  for (const uint64_t offset :
       {uint64_t{0}, uint64_t{64}, uint64_t{8192}, uint64_t{1} << 40, ~uint64_t{4095}}) {
    EXPECT_EQ(refusal_after(kDirectory + kOffset, offset), "entry 0: its bytes are not in place") << offset;
  }
  for (const uint64_t bytes : {uint64_t{1} << 40, ~uint64_t{0}, ~uint64_t{4095}}) {
    EXPECT_EQ(refusal_after(kDirectory + kBytes, bytes), "entry 0: its bytes are not in place") << bytes;
  }
  EXPECT_NE(refusal_after(kDirectory + kBytes, 0), "");
  EXPECT_EQ(refusal_after(kDirectory + kShape, 0), "entry 0: its shape is not positive");
  EXPECT_EQ(refusal_after(kDirectory + kShape, ~uint64_t{0}), "entry 0: its shape is not positive");
  EXPECT_EQ(refusal_after(kDirectory + kNameBytes, 0xffffffff, 4), "entry 0: its name is cut off");
  const size_t third = kDirectory + kName + 19 + kName + 1;
  EXPECT_EQ(refusal_after(third + kName, 'b', 1), "entry 2: its name is there twice");
}

TEST_F(RepackFileTest, WhatIsNoFileIsNotOpened) {
  std::filesystem::remove(path_);
  EXPECT_EQ(refusal(), "no such file");
  std::filesystem::create_directory(path_);
  EXPECT_EQ(refusal(), "expected a regular file, found a directory");
  EXPECT_FALSE(write_repack_file(path_, kKeyOfFile, true, {}));
}

}  // namespace
}  // namespace inferno::backend
