#include "emulated_cuda/memory.h"

#include <fmt/core.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <map>

#include "base/check.h"

namespace inferno::emulated_cuda {
namespace {

constexpr size_t kArenaBytes = size_t{1} << 30;
constexpr size_t kAlignment = 256;  // as cudaMalloc's
constexpr size_t kGuardBytes = 1024;
constexpr int kGuard = 0xff;  // as what is uninitialized: a number that is read from it is a NaN

std::map<std::byte*, size_t> allocations;  // bytes from each first one
size_t taken = 0;
int devices_at_work = 0;
size_t open_bytes = 0;  // while one is

std::byte* arena() {
  static std::byte* const memory = [] {
    void* mapped = mmap(nullptr, kArenaBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(mapped != MAP_FAILED, "no address space for the emulated device");
    return static_cast<std::byte*>(mapped);
  }();
  return memory;
}

size_t rounded(size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

void protect(size_t bytes, int protection) {
  CHECK(mprotect(arena(), bytes, protection) == 0, "mprotect of the emulated device's memory");
}

// Each byte is as the one before it, and so as the first.
bool is_guard(const std::byte* begin, const std::byte* end) {
  return *begin == std::byte{kGuard} &&
         std::memcmp(begin, begin + 1, static_cast<size_t>(end - begin - 1)) == 0;
}

}  // namespace

OnDevice::OnDevice() {
  if (devices_at_work++ > 0) return;
  open_bytes = used_memory().size();
  protect(open_bytes, PROT_READ | PROT_WRITE);
}

OnDevice::~OnDevice() {
  if (--devices_at_work == 0) protect(open_bytes, PROT_NONE);
}

void* allocate(size_t bytes, size_t limit) {
  if (bytes > limit || taken > limit - bytes) return nullptr;
  // The first gap that is large enough.
  std::byte* at = arena() + kGuardBytes;
  for (const auto& [first, size] : allocations) {
    if (static_cast<size_t>(first - at) >= rounded(bytes) + kGuardBytes) break;
    at = first + rounded(size) + kGuardBytes;
  }
  if (static_cast<size_t>(arena() + kArenaBytes - at) < rounded(bytes) + kGuardBytes) return nullptr;
  allocations[at] = bytes;
  taken += bytes;
  const OnDevice on_device;
  std::memset(at - kGuardBytes, kGuard, rounded(bytes) + 2 * kGuardBytes);
  return at;
}

std::string release(void* pointer) {
  if (pointer == nullptr) return "";
  const std::string overwritten = check_guards();
  const auto found = allocations.find(static_cast<std::byte*>(pointer));
  if (found == allocations.end()) return "cudaFree of what cudaMalloc has not given";
  taken -= found->second;
  allocations.erase(found);
  if (allocations.empty()) madvise(arena(), kArenaBytes, MADV_DONTNEED);
  return overwritten;
}

size_t allocated_bytes() {
  return taken;
}

std::span<std::byte> used_memory() {
  if (allocations.empty()) return {};
  const auto& [last, size] = *allocations.rbegin();
  return {arena(), last + rounded(size) + kGuardBytes};
}

bool is_device_memory(const void* pointer) {
  const auto* at = static_cast<const std::byte*>(pointer);
  return at >= arena() && at < arena() + kArenaBytes;
}

std::string check_guards() {
  const OnDevice on_device;
  for (const auto& [first, size] : allocations) {
    if (!is_guard(first - kGuardBytes, first))
      return fmt::format("written before an allocation of {} bytes", size);
    if (!is_guard(first + size, first + rounded(size) + kGuardBytes))
      return fmt::format("written behind an allocation of {} bytes", size);
  }
  return "";
}

}  // namespace inferno::emulated_cuda
