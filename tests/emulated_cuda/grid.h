// Runs the blocks of a grid one after another on the CPU, the threads of a block as fibers that meet at its
// barriers and exchanges. Stricter than a device: what a device may let pass or may hang at is an error here.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <source_location>
#include <string>
#include <type_traits>

namespace inferno::emulated_cuda {

struct Index3 {
  unsigned x, y, z;
};

// The built-in variables of the thread that runs.
extern Index3 thread_index, block_index, block_size, grid_size;

// Blocks, warps and lanes from the last to the first: what then comes out different depended on an order that
// nothing has laid down, as races do and what is read before it is written.
extern bool backwards;

// "" or what was wrong: "lane 3 of warp 0 of block (2, 0, 0) has ended while lane 0 waits at reduce.h:51".
std::string run_grid(Index3 grid, Index3 block, const std::function<void()>& thread);

// What threads call. Every thread of the block, or lane of the warp, has to come to the same place.
void wait_for_block(const std::source_location& place);
// Gives `bits` to the warp and returns those that lane `from` gave.
uint64_t exchange(uint64_t bits, unsigned from, const std::source_location& place);
unsigned lane_number();

template <class T>
T exchange_value(T value, unsigned from, const std::source_location& place) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(uint64_t));
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  bits = exchange(bits, from, place);
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace inferno::emulated_cuda
