#include "base/atomic_file.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <limits>
#include <stdexcept>

#include "support/shared_data.h"

namespace inferno {
namespace {

Status write_text(const std::string& path, std::string_view text) {
  return write_file_atomically(
      path, [&](const AppendFn& append) { return append(std::as_bytes(std::span(text))); });
}

size_t n_files(const std::filesystem::path& dir) {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(dir), {}));
}

TEST(AtomicFile, WritesAllThatWasAppended) {
  const auto dir = test::scratch_dir("atomic");
  const std::string path = (dir / "out.bin").string();
  const std::string big(1 << 20, 'b');
  const Status status = write_file_atomically(path, [&](const AppendFn& append) -> Status {
    TRY(append(std::as_bytes(std::span(std::string_view("a")))));
    TRY(append({}));
    return append(std::as_bytes(std::span(big)));
  });
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(test::read_file(path), "a" + big);
  EXPECT_EQ(n_files(dir), 1u);
}

// It is written in pieces of 2 MiB.
TEST(AtomicFile, WritesAllWhateverTheSizesOfWhatIsAppended) {
  constexpr size_t kPiece = size_t{2} << 20;
  const auto path = test::scratch_dir("atomic") / "file";
  const std::vector<size_t> sizes = {1, kPiece - 1,  kPiece, 0,         3 * kPiece + 5,
                                     7, kPiece - 12, 4095,   2 * kPiece};
  std::string all;
  ASSERT_TRUE(write_file_atomically(path.string(), [&](const AppendFn& append) -> Status {
    for (const size_t size : sizes) {
      std::string part(size, '\0');
      for (size_t i = 0; i < size; ++i) part[i] = static_cast<char>((all.size() + i) * 31 / 7);
      TRY(append(std::as_bytes(std::span(part))));
      all += part;
    }
    return {};
  }));
  std::ifstream file(path, std::ios::binary);
  const std::string found{std::istreambuf_iterator<char>(file), {}};
  EXPECT_TRUE(found == all) << found.size() << " bytes of " << all.size();
}

TEST(AtomicFile, IsCheckedBeforeItTakesItsPlace) {
  const auto dir = test::scratch_dir("atomic");
  const std::string path = (dir / "out").string();
  std::ofstream(path) << "old";
  const auto write = [](const AppendFn& append) { return append(std::as_bytes(std::span("new", 3))); };
  std::string seen;
  const auto look = [&](const std::string& temporary_path) -> Status {
    seen = test::read_file(temporary_path) + " " + test::read_file(path);
    return make_error(ErrorCode::kInvalidFile, "not good");
  };
  const Status refused = write_file_atomically(path, write, look);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "not good");
  EXPECT_EQ(seen, "new old");
  EXPECT_EQ(test::read_file(path), "old");
  EXPECT_EQ(n_files(dir), 1u);
  EXPECT_TRUE(write_file_atomically(path, write, [](const std::string&) { return Status(); }));
  EXPECT_EQ(test::read_file(path), "new");
}

TEST(AtomicFile, ReplacesAFileAndKeepsItsPermissions) {
  const auto dir = test::scratch_dir("atomic");
  const std::string path = (dir / "out").string();
  std::ofstream(path) << "old";
  ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
  ASSERT_TRUE(write_text(path, "new"));
  EXPECT_EQ(test::read_file(path), "new");
  struct stat info {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640u);
}

TEST(AtomicFile, KeepsASymbolicLinkAndReplacesItsTarget) {
  const auto dir = test::scratch_dir("atomic");
  std::ofstream(dir / "target") << "old";
  std::filesystem::create_symlink("target", dir / "link");
  ASSERT_TRUE(write_text((dir / "link").string(), "new"));
  EXPECT_TRUE(std::filesystem::is_symlink(dir / "link"));
  EXPECT_EQ(test::read_file(dir / "target"), "new");
}

TEST(AtomicFile, MakesTheTargetOfASymbolicLinkThatIsNotThereYet) {
  const auto dir = test::scratch_dir("atomic");
  std::filesystem::create_directory(dir / "folder");
  std::filesystem::create_symlink("folder/second", dir / "first");
  std::filesystem::create_symlink("target", dir / "folder" / "second");
  ASSERT_TRUE(write_text((dir / "first").string(), "new"));
  EXPECT_TRUE(std::filesystem::is_symlink(dir / "first"));
  EXPECT_EQ(test::read_file(dir / "folder" / "target"), "new");

  std::filesystem::create_symlink("nowhere/target", dir / "lost");
  const Status lost = write_text((dir / "lost").string(), "new");
  EXPECT_NE(lost.error().message.find("nowhere does not exist"), std::string::npos) << lost.error().message;
  EXPECT_TRUE(std::filesystem::is_symlink(dir / "lost"));

  std::filesystem::create_symlink("loop", dir / "loop");
  EXPECT_FALSE(write_text((dir / "loop").string(), "new"));
  EXPECT_TRUE(std::filesystem::is_symlink(dir / "loop"));
}

TEST(AtomicFile, LeavesEverythingAsItWasWhenWritingFails) {
  const auto dir = test::scratch_dir("atomic");
  const std::string path = (dir / "out").string();
  std::ofstream(path) << "old";
  const auto half_then = [](auto&& then) {
    return [then](const AppendFn& append) -> Status {
      TRY(append(std::as_bytes(std::span(std::string_view("half")))));
      return then();
    };
  };
  const Status failed = write_file_atomically(
      path, half_then([]() -> Status { return make_error(ErrorCode::kRuntime, "no more"); }));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message, "no more");
  EXPECT_THROW(static_cast<void>(write_file_atomically(
                   path, half_then([]() -> Status { throw std::runtime_error("thrown"); }))),
               std::runtime_error);
  EXPECT_EQ(test::read_file(path), "old");
  EXPECT_EQ(n_files(dir), 1u);
}

TEST(AtomicFile, RefusesToReplaceWhatIsNotARegularFile) {
  const Status device = write_text("/dev/null", "x");
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().code, ErrorCode::kIo);
  EXPECT_EQ(device.error().message,
            "/dev/null: expected the name of a regular file to write, found a character device");
  const auto dir = test::scratch_dir("atomic");
  ASSERT_FALSE(write_text(dir.string(), "x"));
  EXPECT_TRUE(std::filesystem::is_directory(dir));
}

TEST(AtomicFile, NamesThePathWhenTheFolderIsNotThere) {
  const std::string path = (test::scratch_dir("atomic") / "no" / "out").string();
  const Status status = write_text(path, "x");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kIo);
  EXPECT_EQ(status.error().message,
            fmt::format("{}: its folder {} does not exist; make it (mkdir -p) or give another path", path,
                        std::filesystem::path(path).parent_path().string()));
  EXPECT_EQ(check_writable(path).error().message, status.error().message);
}

TEST(AtomicFile, WhetherAPathIsWritableIsKnownWithoutWriting) {
  const auto dir = test::scratch_dir("atomic");
  EXPECT_TRUE(check_writable((dir / "new").string()));
  EXPECT_EQ(n_files(dir), 0u);
  std::ofstream(dir / "old") << "old";
  EXPECT_TRUE(check_writable((dir / "old").string()));
  EXPECT_EQ(test::read_file(dir / "old"), "old");
  for (const std::string& path :
       {std::string("/dev/null"), (dir / "missing" / "new").string(), dir.string()}) {
    const Status status = check_writable(path);
    ASSERT_FALSE(status) << path;
    EXPECT_EQ(status.error().code, ErrorCode::kIo);
    EXPECT_TRUE(status.error().message.starts_with(path)) << status.error().message;
  }
  EXPECT_EQ(n_files(dir), 1u);
}

TEST(AtomicFile, WhetherAFolderCanBeWrittenToIsKnownWithoutMakingIt) {
  const auto dir = test::scratch_dir("atomic");
  for (const std::string& path : {std::string(), std::string("missing/in/here"), dir.string(),
                                  dir.string() + "/", (dir / "a" / "b").string()}) {
    const Status status = check_folder_writable(path);
    EXPECT_TRUE(status) << status.error().message;
  }
  EXPECT_EQ(n_files(dir), 0u);
  std::ofstream(dir / "file") << "x";
  for (const std::string& path : {(dir / "file").string(), (dir / "file" / "b" / "c").string()}) {
    const Status status = check_folder_writable(path);
    ASSERT_FALSE(status) << path;
    EXPECT_EQ(status.error().code, ErrorCode::kIo);
    EXPECT_EQ(status.error().message, path + ": cannot write into this folder: Not a directory");
  }
}

TEST(AtomicFile, WhatAWriterLeftIsKnownByItsNameAndItsAge) {
  const auto dir = test::scratch_dir("atomic");
  const auto touch = [&](const std::string& name) {
    std::ofstream(dir / name) << "half";
    return (dir / name).string();
  };
  const pid_t nobody = std::numeric_limits<pid_t>::max();
  const std::string target = (dir / "a.b").string();
  EXPECT_EQ(target_of_abandoned(touch(fmt::format("a.b.{}-0.tmp", nobody))), target);
  const std::string ours = touch(fmt::format("a.b.{}-7.tmp", ::getpid()));
  EXPECT_EQ(target_of_abandoned(ours), std::nullopt) << "it may be written";
  const auto two_hours_ago = std::filesystem::file_time_type::clock::now() - std::chrono::hours(2);
  std::filesystem::last_write_time(ours, two_hours_ago);
  EXPECT_EQ(target_of_abandoned(ours), target) << "the number is another's";
  for (const std::string name :
       {"a.b", "a.tmp", ".tmp", "a.x-1.tmp", "a.1.tmp", "a.1-.tmp", "a.1-2x.tmp", "a.-1-2.tmp"})
    EXPECT_EQ(target_of_abandoned(touch(name)), std::nullopt) << name;
  EXPECT_EQ(target_of_abandoned((dir / fmt::format("gone.{}-0.tmp", nobody)).string()), std::nullopt);
}

TEST(AtomicFile, ParentFoldersAreMade) {
  const auto dir = test::scratch_dir("atomic");
  ASSERT_TRUE(make_parent_folder((dir / "a" / "b" / "file").string()));
  EXPECT_TRUE(std::filesystem::is_directory(dir / "a" / "b"));
  EXPECT_TRUE(make_parent_folder((dir / "a" / "b" / "file").string()));
  EXPECT_TRUE(make_parent_folder("file"));
  std::ofstream(dir / "file") << "x";
  const Status status = make_parent_folder((dir / "file" / "b" / "c").string());
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kIo);
  EXPECT_EQ(status.error().message,
            (dir / "file" / "b").string() + ": cannot make this folder: Not a directory");
}

}  // namespace
}  // namespace inferno
