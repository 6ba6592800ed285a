#include "base/table_memory.h"

#include <sys/mman.h>

#include <cstdint>
#include <functional>

#include "base/page_mover.h"

namespace inferno {

TableMemory::TableMemory(size_t bytes) {
  constexpr size_t kHugePage = PageMover::kHugePage;
  if (bytes < kHugePage / 2 || bytes > SIZE_MAX - kHugePage) return;
  const size_t room_bytes = (bytes + kHugePage - 1) / kHugePage * kHugePage;
  room_.reset(static_cast<std::byte*>(std::aligned_alloc(kHugePage, room_bytes)));
  if (room_ == nullptr) return;
  room_bytes_ = room_bytes;
  ::madvise(room_.get(), room_bytes, MADV_HUGEPAGE);  // advice: small pages only take longer
}

void* TableMemory::do_allocate(size_t bytes, size_t alignment) {
  const size_t begin = (taken_ + alignment - 1) / alignment * alignment;
  if (begin >= room_bytes_ || bytes > room_bytes_ - begin) {
    return std::pmr::new_delete_resource()->allocate(bytes, alignment);
  }
  taken_ = begin + bytes;
  return room_.get() + begin;
}

void TableMemory::do_deallocate(void* at, size_t bytes, size_t alignment) {
  const auto* const byte = static_cast<const std::byte*>(at);
  const bool is_in_room =
      room_ != nullptr && !std::less<>()(byte, room_.get()) && std::less<>()(byte, room_.get() + room_bytes_);
  if (!is_in_room) std::pmr::new_delete_resource()->deallocate(at, bytes, alignment);
}

}  // namespace inferno
