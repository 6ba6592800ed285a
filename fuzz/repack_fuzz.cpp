// Any bytes as a repack cache: refused with one line, or every matrix lies within the file and can be read.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "backend/repack_file.h"
#include "base/content_hash.h"

namespace inferno::backend {
namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

void require_one_line(const Error& error) {
  require(!error.message.empty() && error.message.find('\n') == std::string::npos);
}

// Where these stand in the header, whose layout is in repack_file.cpp.
constexpr size_t kFileBytes = 16, kDirectoryBytes = 32, kHash = 40, kLayout = 48, kKey = 96;
constexpr size_t kHeaderBytes = 128;

uint64_t number_at(std::span<const std::byte> bytes, size_t offset) {
  uint64_t number;
  std::memcpy(&number, bytes.data() + offset, sizeof number);
  return number;
}

// With the size that it has and the hash of its header and directory, since no mutation would guess them.
void mend(std::span<std::byte> file) {
  if (file.size() < kHeaderBytes) return;
  const uint64_t size = file.size();
  std::memcpy(file.data() + kFileBytes, &size, sizeof size);
  const uint64_t directory = number_at(file, kDirectoryBytes);
  if (directory > file.size() - kHeaderBytes) return;
  std::memset(file.data() + kHash, 0, sizeof(uint64_t));
  const uint64_t hashes[2] = {content_hash(file.first(kHeaderBytes)),
                              content_hash(file.subspan(kHeaderBytes, directory))};
  const uint64_t hash = content_hash(std::as_bytes(std::span(hashes)));
  std::memcpy(file.data() + kHash, &hash, sizeof hash);
}

RepackKey key_of(std::span<const std::byte> file) {
  RepackKey key;
  if (file.size() < kHeaderBytes) return key;
  const char* layout = reinterpret_cast<const char*>(file.data() + kLayout);
  key.layout.assign(layout, ::strnlen(layout, kKey - kLayout));
  key.sizes = number_at(file, kKey);
  key.modified = number_at(file, kKey + 8);
  key.headers = number_at(file, kKey + 16);
  key.samples = number_at(file, kKey + 24);
  return key;
}

void read_all(const RepackFile& file) {
  const std::span<const std::byte> whole = file.mapping()->bytes();
  for (const RepackedMatrix& matrix : file.matrices()) {
    require(matrix.rows > 0 && matrix.cols > 0);
    require(matrix.bytes.data() >= whole.data());
    require(matrix.bytes.size() <= whole.size() - static_cast<size_t>(matrix.bytes.data() - whole.data()));
  }
  if (const Status status = file.check(); !status.ok()) require_one_line(status.error());
}

}  // namespace
}  // namespace inferno::backend

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace inferno;
  using namespace inferno::backend;
  static const int fd = ::memfd_create("repack_fuzz", 0);
  static const std::string path = "/proc/self/fd/" + std::to_string(fd);
  const auto bytes = std::as_bytes(std::span(data, size));
  std::vector<std::byte> whole(bytes.begin(), bytes.end());
  mend(whole);
  require(::ftruncate(fd, 0) == 0 && ::pwrite(fd, whole.data(), size, 0) == static_cast<ssize_t>(size));
  for (const RepackKey& key : {key_of(whole), RepackKey()}) {
    const Result<RepackFile> file = RepackFile::open(path, key);
    if (file.ok()) {
      read_all(*file);
    } else {
      require_one_line(file.error());
    }
  }
  return 0;
}
