// TableMemory: a std::pmr::memory_resource for tables that are built once and live long, one after the other
// in huge pages (2 MiB) from their first byte on: under some hypervisors to make small ones one by one as
// they are written takes longer than what is written. Give it to std::pmr containers that reserve what they
// need.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <memory_resource>

namespace inferno {

class TableMemory final : public std::pmr::memory_resource {
 public:
  // Room for `bytes` in all, or none where they would fill less than half a huge page: what does not fit
  // comes from new. Never fails; without huge pages small ones are there.
  explicit TableMemory(size_t bytes);
  TableMemory(const TableMemory&) = delete;
  TableMemory& operator=(const TableMemory&) = delete;

 private:
  // std::bad_alloc, as new has it.
  void* do_allocate(size_t bytes, size_t alignment) override;
  // What lay in the room stays taken until the resource ends.
  void do_deallocate(void* at, size_t bytes, size_t alignment) override;
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

  struct Free {
    void operator()(std::byte* room) const { std::free(room); }
  };
  std::unique_ptr<std::byte[], Free> room_;
  size_t room_bytes_ = 0, taken_ = 0;
};

}  // namespace inferno
