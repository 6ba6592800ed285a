// Fetcher: brings what is multiplied next into the second-level cache while other things are multiplied.
// Otherwise memory rests during all tiles of a panel but the first, and the first waits for memory. For
// quantized weights and more rows of activations than a stream takes (kStreamedRows); floating-point ones,
// which are four streams side by side, gained nothing.
#pragma once

#include <cstdint>

namespace inferno::kernels {
namespace {

// What one tile fetches, or a stream (PanelMatmulParams::fetch_ahead): so many lines at each of its steps.
struct Fetch {
  const uint8_t* at;
  int64_t lines;

  [[gnu::always_inline]] void step() {
    for (int64_t line = 0; line < lines; ++line, at += 64) __builtin_prefetch(at, 0, 2);
  }
};

class Fetcher {
 public:
  // In n_tiles tiles of n_steps steps. nullptr: nothing.
  Fetcher(const uint8_t* begin, int64_t bytes, int64_t n_tiles, int64_t n_steps)
      : at_(begin),
        end_(begin == nullptr ? begin : begin + bytes),
        n_steps_(n_steps),
        lines_((bytes + n_tiles * n_steps * 64 - 1) / (n_tiles * n_steps * 64)) {}
  Fetcher() : Fetcher(nullptr, 0, 1, 1) {}

  Fetch next_tile() {
    if (at_ >= end_) return {nullptr, 0};
    const Fetch fetch = {at_, lines_};
    at_ += n_steps_ * lines_ * 64;
    return fetch;
  }

 private:
  const uint8_t* at_;
  const uint8_t* end_;
  int64_t n_steps_;
  int64_t lines_;  // at a step
};

}  // namespace
}  // namespace inferno::kernels
