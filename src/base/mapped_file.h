// A read-only memory-mapped file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"

namespace inferno {

class MappedFile {
 public:
  // Maps a regular file. Refuses directories, FIFOs, devices and sockets by name without blocking on them.
  // An empty file maps to an empty span. Errors name the path and the operating system's reason.
  // Closed again once it is mapped, unless it is kept open for copy().
  enum class Descriptor { kClosed, kKeptOpen };
  static Result<std::shared_ptr<const MappedFile>> open(const std::string& path,
                                                        Descriptor descriptor = Descriptor::kClosed);

  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  // Of the file whose bytes() an address lies in: its path, printable, or nullptr. May be called in a signal
  // handler, of a thread that reads those bytes; of many files mapped at once some are not known.
  static const char* name_at(const void* address);

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  const std::string& path() const { return path_; }
  // When the file's bytes were last changed, as of open(): nanoseconds since 1970.
  int64_t modified_ns() const { return modified_ns_; }

  // A part of bytes() that nobody will read soon: the memory that holds its whole pages may go to others. Who
  // reads it all the same finds the file's bytes, only later.
  void release(std::span<const std::byte> part) const;
  // A part of bytes() that will be read soon, all of it: its pages become ready in few steps, not one by one
  // as they are touched.
  void prepare(std::span<const std::byte> part) const;
  // Before any of bytes() is read, where all will be: what comes from the disk comes in huge pages, if the
  // system keeps files in such.
  void want_huge_pages() const;
  // Whether it was kept open.
  bool can_copy() const { return file_ >= 0; }
  // Copies a part of bytes() to `to` by way of the file, which was kept open, so that no page of it is
  // mapped: for what is read once. From any thread. kIo where the file has become shorter since, or cannot be
  // read (a read of bytes() would end the process).
  Status copy(std::span<const std::byte> part, std::byte* to) const;

 private:
  MappedFile() = default;
  std::string path_;
  std::string name_;  // the path, printable
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
  int file_ = -1;
  int64_t modified_ns_ = 0;
};

}  // namespace inferno
