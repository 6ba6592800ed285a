#include "base/page_filler.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/non_temporal.h"

#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1  // Linux 5.11; headers may be older
#endif

namespace inferno {
namespace {

// The system copies within one of its areas only, and whether huge pages are wanted makes other areas.
constexpr size_t kAreaBytes = size_t{2} << 20;

size_t page_bytes() {
  static const auto bytes = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

// Whole pages that are not there: up to the first that is. Returns 0 or errno; *copied is how far it got.
int copy_pages(int file, std::byte* to, const std::byte* from, size_t bytes, size_t* copied) {
  uffdio_copy request = {};
  request.dst = reinterpret_cast<uintptr_t>(to);
  request.src = reinterpret_cast<uintptr_t>(from);
  request.len = bytes;
  const int error = ::ioctl(file, UFFDIO_COPY, &request) == 0 ? 0 : errno;
  *copied = request.copy > 0 ? static_cast<size_t>(request.copy) : 0;
  return error;
}

}  // namespace

PageFiller::~PageFiller() {
  if (file_ >= 0) ::close(file_);
}

bool PageFiller::is_possible() {
  if (file_ != kNotTried) return file_ >= 0;
  file_ = kImpossible;
  const auto file = static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY));
  if (file < 0) return false;
  uffdio_api api = {};
  api.api = UFFD_API;
  api.features = UFFD_FEATURE_SIGBUS;  // without it, whoever touches what is not there waits for ever
  if (::ioctl(file, UFFDIO_API, &api) != 0) {
    ::close(file);
    return false;
  }
  file_ = file;
  return true;
}

bool PageFiller::begin(void* at, size_t bytes) {
  if (!is_possible()) return false;
  uffdio_register request = {};
  request.range = {reinterpret_cast<uintptr_t>(at), bytes};
  request.mode = UFFDIO_REGISTER_MODE_MISSING;
  return ::ioctl(file_, UFFDIO_REGISTER, &request) == 0;
}

void PageFiller::end(void* at, size_t bytes) {
  uffdio_range range = {reinterpret_cast<uintptr_t>(at), bytes};
  if (::ioctl(file_, UFFDIO_UNREGISTER, &range) == 0) return;
  // All that is registered, then.
  ::close(file_);
  file_ = kImpossible;
}

// Of zeros, unless it is there.
bool PageFiller::make_page(void* at) const {
  static const std::vector<std::byte> zeros(page_bytes());
  for (;;) {
    size_t copied = 0;
    const int error = copy_pages(file_, static_cast<std::byte*>(at), zeros.data(), page_bytes(), &copied);
    if (error == 0 || error == EEXIST) return true;
    if (error != EAGAIN) return false;
  }
}

bool PageFiller::copy(void* to, const void* from, size_t bytes) const {
  auto* out = static_cast<std::byte*>(to);
  const auto* in = static_cast<const std::byte*>(from);
  while (bytes > 0) {
    const size_t offset = reinterpret_cast<uintptr_t>(out) % page_bytes();
    size_t copied = 0;
    if (offset == 0 && bytes >= page_bytes()) {
      const size_t area = kAreaBytes - reinterpret_cast<uintptr_t>(out) % kAreaBytes;
      const size_t whole = std::min(area, bytes / page_bytes() * page_bytes());
      const int error = copy_pages(file_, out, in, whole, &copied);
      // EAGAIN: the memory's map changed meanwhile, or it stopped before the end.
      if (error != 0 && error != EAGAIN && error != EEXIST) return false;
    }
    // A part of a page, which others may be copying to, or one that is there.
    if (copied == 0) {
      copied = std::min(bytes, page_bytes() - offset);
      if (!make_page(out - offset)) return false;
      non_temporal_copy(out, in, copied);
    }
    out += copied;
    in += copied;
    bytes -= copied;
  }
  return true;
}

}  // namespace inferno
