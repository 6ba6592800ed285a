// Fetcher: brings what is multiplied next into the second-level cache while other things are multiplied.
// Otherwise memory rests during all tiles of a panel but the first, and the first waits for memory. For
// quantized weights; floating-point ones, which are four streams side by side, gained nothing.
#pragma once

#include <cstdint>

namespace inferno::kernels {
namespace {

// A core asks for few lines by itself; most come because it foresees a stream, and of each stream it foresees
// some twenty lines. So what comes next is fetched as three streams side by side: what that gains over one,
// two, four or five is in docs/decisions/001.
constexpr int kFetchStreams = 3;

// What one tile fetches: its piece of each stream, in as many steps as the tile has blocks.
struct Fetch {
  const uint8_t* at;
  int64_t to_next;  // stream, in bytes
  int64_t pace;     // bytes of a stream at each step
  int64_t due = 0;
  int64_t done = 0;

  // A step's lines all at once.
  [[gnu::always_inline]] void step() {
    begin_step();
    while (done < due) ask();
  }
  // Or up to one of each stream at a time, between other things.
  [[gnu::always_inline]] void begin_step() { due += pace; }
  [[gnu::always_inline]] void part_of_step() {
    if (done < due) ask();
  }

 private:
  [[gnu::always_inline]] void ask() {
#pragma GCC unroll 4
    for (int i = 0; i < kFetchStreams; ++i) __builtin_prefetch(at + i * to_next + done, 0, 2);
    done += 64;
  }
};

class Fetcher {
 public:
  // In n_tiles tiles of n_steps steps. nullptr: nothing.
  Fetcher(const uint8_t* begin, int64_t bytes, int64_t n_tiles, int64_t n_steps)
      : at_(begin),
        stream_(lines_of(bytes, kFetchStreams) * 64),
        piece_(lines_of(bytes, kFetchStreams * n_tiles) * 64),
        pace_((piece_ + n_steps - 1) / n_steps) {}

  Fetch next_tile() {
    if (at_ == nullptr) return {nullptr, 0, 0};
    const Fetch fetch = {at_ + fetched_, stream_, fetched_ < stream_ ? pace_ : 0};
    fetched_ += piece_;
    return fetch;
  }

 private:
  // Of a part, where bytes are cut into so many.
  static int64_t lines_of(int64_t bytes, int64_t parts) { return (bytes + parts * 64 - 1) / (parts * 64); }

  const uint8_t* at_;
  int64_t stream_;  // bytes
  int64_t piece_;   // of it, for a tile
  int64_t pace_;
  int64_t fetched_ = 0;  // of each stream
};

}  // namespace
}  // namespace inferno::kernels
