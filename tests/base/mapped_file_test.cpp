#include "base/mapped_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/shared_data.h"

namespace inferno {
namespace {

std::string open_error(const std::string& path) {
  const auto file = MappedFile::open(path);
  if (file) return "(opened)";
  EXPECT_EQ(file.error().code, ErrorCode::kIo);
  return file.error().message;
}

TEST(MappedFile, GivesTheBytesOfTheFile) {
  const auto path = test::scratch_dir("mapped") / "file.bin";
  std::ofstream(path, std::ios::binary) << "seven b";
  const auto file = MappedFile::open(path.string());
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ((*file)->path(), path.string());
  ASSERT_EQ((*file)->bytes().size(), 7u);
  EXPECT_EQ(std::memcmp((*file)->bytes().data(), "seven b", 7), 0);
}

TEST(MappedFile, TellsWhenTheFileWasChanged) {
  const auto path = test::scratch_dir("mapped") / "file.bin";
  std::ofstream(path) << "x";
  const timespec times[2] = {{1, 0}, {1'700'000'000, 123'456'789}};  // read, changed
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  const auto file = MappedFile::open(path.string());
  ASSERT_TRUE(file);
  EXPECT_EQ((*file)->modified_ns(), 1'700'000'000'123'456'789);
}

TEST(MappedFile, PreparedAndReleasedPartsAreTheFilesBytes) {
  const auto path = test::scratch_dir("mapped") / "file.bin";
  const std::string text = std::string(50'000, 'x') + std::string(50'001, 'y');
  std::ofstream(path, std::ios::binary) << text;
  const auto file = MappedFile::open(path.string());
  ASSERT_TRUE(file);
  const auto bytes = (*file)->bytes();
  (*file)->want_huge_pages();
  for (const auto part : {bytes, bytes.subspan(5000, 1), bytes.subspan(49'999), bytes.first(0)}) {
    (*file)->prepare(part);
    (*file)->release(part);
    EXPECT_EQ(std::memcmp(bytes.data(), text.data(), text.size()), 0);
  }
}

TEST(MappedFile, CopiesAreTheFilesBytes) {
  const auto path = test::scratch_dir("mapped") / "file.bin";
  std::string text;
  for (int i = 0; text.size() < 300'000; ++i) text += std::to_string(i);
  std::ofstream(path, std::ios::binary) << text;
  const auto file = MappedFile::open(path.string(), MappedFile::Descriptor::kKeptOpen);
  ASSERT_TRUE(file);
  const auto bytes = (*file)->bytes();
  for (const auto part :
       {bytes, bytes.subspan(5000, 1), bytes.subspan(49'999, 4097), bytes.last(3), bytes.first(0)}) {
    std::vector<std::byte> copy(part.size());
    ASSERT_TRUE((*file)->copy(part, copy.data()));
    const std::string_view expected =
        std::string_view(text).substr(static_cast<size_t>(part.data() - bytes.data()), part.size());
    EXPECT_TRUE(std::ranges::equal(copy, std::as_bytes(std::span(expected))));
  }
}

TEST(MappedFile, ACopyOfWhatIsNoLongerThereIsAnError) {
  const auto path = test::scratch_dir("mapped") / "file.bin";
  std::ofstream(path, std::ios::binary) << std::string(10'000, 'x');
  const auto file = MappedFile::open(path.string(), MappedFile::Descriptor::kKeptOpen);
  ASSERT_TRUE(file);
  std::filesystem::resize_file(path, 6'000);
  std::vector<std::byte> copy(10'000);
  EXPECT_TRUE((*file)->copy((*file)->bytes().first(6'000), copy.data()));
  for (const size_t from : {size_t{1'000}, size_t{6'000}, size_t{7'000}}) {
    const Status cut = (*file)->copy((*file)->bytes().subspan(from), copy.data());
    ASSERT_FALSE(cut);
    EXPECT_EQ(cut.error().code, ErrorCode::kIo);
    for (const char* part : {"file.bin", "has 6000 bytes", "expected 10000", "shorter"})
      EXPECT_NE(cut.error().message.find(part), std::string::npos) << cut.error().message;
  }
}

TEST(MappedFile, OutlivesTheNameOfTheFile) {
  const auto path = test::scratch_dir("mapped") / "file.bin";
  std::ofstream(path, std::ios::binary) << std::string(100'000, 'x');
  const auto file = MappedFile::open(path.string());
  ASSERT_TRUE(file);
  std::filesystem::remove(path);
  EXPECT_EQ((*file)->bytes().back(), std::byte{'x'});
}

TEST(MappedFile, NamesTheFileOfAnAddress) {
  const std::string folder = test::scratch_dir("mapped").string();
  const std::string second = folder + "/second.bin";
  std::ofstream(folder + "/a\tb.bin") << "first";
  std::ofstream(second) << "second";
  auto a = *MappedFile::open(folder + "/a\tb.bin");
  const auto b = *MappedFile::open(second);
  const std::byte* const inside = a->bytes().data();
  ASSERT_NE(MappedFile::name_at(inside), nullptr);
  EXPECT_NE(std::string(MappedFile::name_at(inside + 4)).find("a\\tb.bin"), std::string::npos);
  EXPECT_EQ(MappedFile::name_at(&b->bytes().back()), second);
  EXPECT_EQ(MappedFile::name_at(&second), nullptr);
  EXPECT_EQ(MappedFile::name_at(nullptr), nullptr);
  a.reset();
  EXPECT_EQ(MappedFile::name_at(inside), nullptr);
  // More than it knows, and as many again.
  for (int round = 0; round < 2; ++round) {
    std::vector<std::shared_ptr<const MappedFile>> many;
    for (int i = 0; i < 100; ++i) many.push_back(*MappedFile::open(second));
    EXPECT_EQ(MappedFile::name_at(many.front()->bytes().data()), second);
  }
}

TEST(MappedFile, EmptyFileIsAnEmptySpan) {
  const auto path = test::scratch_dir("mapped") / "empty";
  std::ofstream(path).flush();
  const auto file = MappedFile::open(path.string());
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_TRUE((*file)->bytes().empty());
}

TEST(MappedFile, FollowsASymbolicLink) {
  const auto dir = test::scratch_dir("mapped");
  std::ofstream(dir / "file") << "x";
  std::filesystem::create_symlink("file", dir / "link");
  EXPECT_TRUE(MappedFile::open((dir / "link").string()));
}

TEST(MappedFile, SaysThatAFileDoesNotExist) {
  const auto dir = test::scratch_dir("mapped");
  EXPECT_EQ(open_error((dir / "absent.gguf").string()), (dir / "absent.gguf").string() + ": no such file");
  EXPECT_EQ(open_error(""), ": no such file");
  std::filesystem::create_symlink("nowhere", dir / "dangling");
  EXPECT_EQ(open_error((dir / "dangling").string()), (dir / "dangling").string() + ": no such file");
}

// Memory of this process that holds files' bytes, those of files in memory too, in kB; 0 where the system
// does not tell.
long resident_file_kb() {
  std::ifstream status("/proc/self/status");
  long sum = 0;
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("RssFile:", 0) == 0) sum += std::stol(line.substr(8));
    if (line.rfind("RssShmem:", 0) == 0) sum += std::stol(line.substr(9));
  }
  return sum;
}

TEST(MappedFile, ReleasedBytesTakeNoMemoryAndAreReadAgain) {
  const auto path = test::scratch_dir("mapped") / "large";
  const std::string text(8 << 20, 'x');
  std::ofstream(path, std::ios::binary) << text;
  const auto file = MappedFile::open(path.string());
  ASSERT_TRUE(file.ok());
  const auto bytes = (*file)->bytes();
  const auto all_there = [&] { return std::memcmp(bytes.data(), text.data(), text.size()) == 0; };
  for (const auto& [first, size] : {std::pair<size_t, size_t>{0, 0}, {1, 2}, {4095, 2}, {5, 12'000}})
    (*file)->release(bytes.subspan(first, size));
  EXPECT_TRUE(all_there());
  const long before = resident_file_kb();
  (*file)->release(bytes.subspan(100, bytes.size() - 200));
  if (before != 0) {
    EXPECT_LT(resident_file_kb(), before - 7000);
  }
  EXPECT_TRUE(all_there());
}

TEST(MappedFile, SaysThatAFileMayNotBeRead) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may read everything";
  const auto path = test::scratch_dir("mapped") / "secret";
  std::ofstream(path) << "x";
  ASSERT_EQ(::chmod(path.c_str(), 0), 0);
  EXPECT_EQ(open_error(path.string()), path.string() + ": cannot open it: Permission denied");
}

TEST(MappedFile, EscapesThePathInErrors) {
  EXPECT_EQ(open_error("/no\nsuch\x1b.gguf"), "/no\\nsuch\\u{1b}.gguf: no such file");
  EXPECT_EQ(open_error(std::string("/dev/null\0x", 11)), "/dev/null\\0x: no such file");
}

TEST(MappedFile, RefusesWhatIsNotARegularFileAndNamesIt) {
  const auto dir = test::scratch_dir("mapped");
  const auto expected = [](const std::string& path, const std::string& kind) {
    return path + ": expected a regular file, found " + kind;
  };
  EXPECT_EQ(open_error(dir.string()), expected(dir.string(), "a directory"));
  EXPECT_EQ(open_error("/dev/null"), expected("/dev/null", "a character device"));

  const std::string fifo = (dir / "fifo").string();
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(open_error(fifo), expected(fifo, "a named pipe (FIFO)"));  // and does not wait for a writer

  const std::string socket_path = (dir / "socket").string();
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_GE(fd, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  ASSERT_LT(socket_path.size(), sizeof address.sun_path);
  std::strcpy(address.sun_path, socket_path.c_str());
  ASSERT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(open_error(socket_path), expected(socket_path, "a socket"));
  ::close(fd);
}

}  // namespace
}  // namespace inferno
