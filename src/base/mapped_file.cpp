#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/file_kind.h"
#include "base/text.h"

namespace inferno {
namespace {

struct OpenFile {
  int fd;
  ~OpenFile() {
    if (fd >= 0) ::close(fd);
  }
  int release() { return std::exchange(fd, -1); }
};

std::string reason(int error_number) {
  return std::generic_category().message(error_number);
}

Error not_a_regular_file(const std::string& path, mode_t mode) {
  return make_error(ErrorCode::kIo, "{}: expected a regular file, found {}", escaped(path, path.size()),
                    file_kind(mode));
}

Error open_error(const std::string& path, int error_number) {
  const std::string name = escaped(path, path.size());
  if (error_number == ENOENT) return make_error(ErrorCode::kIo, "{}: no such file", name);
  // A socket cannot be opened at all, so say what it is rather than "no such device or address".
  struct stat info {};
  if (error_number == ENXIO && ::stat(path.c_str(), &info) == 0)
    return not_a_regular_file(path, info.st_mode);
  return make_error(ErrorCode::kIo, "{}: cannot open it: {}", name, reason(error_number));
}

// What is mapped, as name_at() finds it: written and read without a lock.
struct Mapping {
  std::atomic<bool> is_taken{false};
  std::atomic<const std::byte*> begin{nullptr};  // written last, and cleared first
  std::atomic<size_t> size{0};
  std::atomic<const char*> name{nullptr};
};
static_assert(std::atomic<const char*>::is_always_lock_free && std::atomic<size_t>::is_always_lock_free);
std::array<Mapping, 64> mappings;

void add_mapping(std::span<const std::byte> bytes, const char* name) {
  for (Mapping& mapping : mappings) {
    if (mapping.is_taken.exchange(true)) continue;
    mapping.size = bytes.size();
    mapping.name = name;
    mapping.begin = bytes.data();
    return;
  }
}

void remove_mapping(const std::byte* begin) {
  for (Mapping& mapping : mappings) {
    if (mapping.begin != begin) continue;
    mapping.begin = nullptr;
    mapping.is_taken = false;
    return;
  }
}

}  // namespace

const char* MappedFile::name_at(const void* address) {
  const auto at = reinterpret_cast<uintptr_t>(address);
  for (const Mapping& mapping : mappings) {
    const auto begin = reinterpret_cast<uintptr_t>(mapping.begin.load());
    if (begin != 0 && at >= begin && at - begin < mapping.size) return mapping.name;
  }
  return nullptr;
}

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::string& path, Descriptor descriptor) {
  // A path from outside may hold a zero byte, where the operating system would see its end.
  if (path.find('\0') != std::string::npos) return open_error(path, ENOENT);
  // Without O_NONBLOCK, opening a FIFO that nobody writes to would wait for ever.
  OpenFile file{::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)};
  if (file.fd < 0) return open_error(path, errno);
  struct stat info {};
  if (::fstat(file.fd, &info) != 0) return open_error(path, errno);
  if (!S_ISREG(info.st_mode)) return not_a_regular_file(path, info.st_mode);

  std::shared_ptr<MappedFile> mapped(new MappedFile);
  mapped->path_ = path;
  mapped->modified_ns_ = int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec;
  if (info.st_size == 0) return std::shared_ptr<const MappedFile>(std::move(mapped));
  const auto size = static_cast<size_t>(info.st_size);
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd, 0);
  if (data == MAP_FAILED) {
    return make_error(ErrorCode::kIo, "{}: cannot map its {} into memory: {}", escaped(path, path.size()),
                      human_bytes(size), reason(errno));
  }
  mapped->data_ = static_cast<const std::byte*>(data);
  mapped->size_ = size;
  mapped->name_ = escaped(path, path.size());
  add_mapping(mapped->bytes(), mapped->name_.c_str());
  if (descriptor == Descriptor::kKeptOpen) mapped->file_ = file.release();
  return std::shared_ptr<const MappedFile>(std::move(mapped));
}

void MappedFile::release(std::span<const std::byte> part) const {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const auto offset = static_cast<size_t>(part.data() - data_);
  const size_t begin = (offset + page - 1) / page * page;
  const size_t end = (offset + part.size()) / page * page;
  // A hint: where it is not taken nothing is lost but memory.
  if (begin < end) ::madvise(const_cast<std::byte*>(data_) + begin, end - begin, MADV_DONTNEED);
}

void MappedFile::want_huge_pages() const {
  ::madvise(const_cast<std::byte*>(data_), size_, MADV_HUGEPAGE);
}

void MappedFile::prepare(std::span<const std::byte> part) const {
#ifndef MADV_POPULATE_READ
  constexpr int MADV_POPULATE_READ = 22;  // Linux 5.14; headers may be older
#endif
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const auto offset = static_cast<size_t>(part.data() - data_);
  const size_t begin = offset / page * page;
  // A hint: where it is not taken the pages come as they are touched.
  std::byte* const first = const_cast<std::byte*>(data_) + begin;
  const size_t bytes = offset + part.size() - begin;
  if (::madvise(first, bytes, MADV_POPULATE_READ) != 0) ::madvise(first, bytes, MADV_WILLNEED);
}

Status MappedFile::copy(std::span<const std::byte> part, std::byte* to) const {
  auto offset = static_cast<size_t>(part.data() - data_);
  for (size_t left = part.size(); left > 0;) {
    const ssize_t n = ::pread(file_, to, left, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      return make_error(ErrorCode::kIo, "{}: at byte {}: cannot read it: {}", escaped(path_, path_.size()),
                        offset, reason(errno));
    }
    if (n == 0) {
      struct stat now {};
      ::fstat(file_, &now);
      return make_error(ErrorCode::kIo,
                        "{}: has {} bytes, expected {} as when it was opened: it has become shorter since",
                        escaped(path_, path_.size()), static_cast<int64_t>(now.st_size), size_);
    }
    offset += static_cast<size_t>(n);
    to += n;
    left -= static_cast<size_t>(n);
  }
  return {};
}

MappedFile::~MappedFile() {
  if (file_ >= 0) ::close(file_);
  if (data_ == nullptr) return;
  remove_mapping(data_);
  ::munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace inferno
