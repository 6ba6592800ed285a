#include "base/table_memory.h"

#include <sys/mman.h>

#include <cstdint>
#include <functional>

namespace inferno {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

}  // namespace

TableMemory::TableMemory(size_t bytes) {
  if (bytes < kHugePage / 2 || bytes > SIZE_MAX - 2 * kHugePage) return;
  const size_t room = (bytes + kHugePage - 1) / kHugePage * kHugePage;
  // One huge page more than needed, of which what lies before the border and behind the room goes back.
  void* mapped =
      ::mmap(nullptr, room + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return;
  auto* const begin = static_cast<std::byte*>(mapped);
  const size_t before = (kHugePage - reinterpret_cast<uintptr_t>(begin) % kHugePage) % kHugePage;
  room_ = begin + before;
  room_bytes_ = room;
  if (before > 0) ::munmap(begin, before);
  if (before < kHugePage) ::munmap(room_ + room, kHugePage - before);
  ::madvise(room_, room, MADV_HUGEPAGE);  // advice: small pages only take longer
}

TableMemory::~TableMemory() {
  if (room_ != nullptr) ::munmap(room_, room_bytes_);
}

void* TableMemory::do_allocate(size_t bytes, size_t alignment) {
  const size_t begin = (taken_ + alignment - 1) / alignment * alignment;
  if (begin >= room_bytes_ || bytes > room_bytes_ - begin) {
    return std::pmr::new_delete_resource()->allocate(bytes, alignment);
  }
  taken_ = begin + bytes;
  return room_ + begin;
}

void TableMemory::do_deallocate(void* at, size_t bytes, size_t alignment) {
  const auto* const byte = static_cast<const std::byte*>(at);
  const bool is_in_room =
      room_ != nullptr && !std::less<>()(byte, room_) && std::less<>()(byte, room_ + room_bytes_);
  if (!is_in_room) std::pmr::new_delete_resource()->deallocate(at, bytes, alignment);
}

}  // namespace inferno
