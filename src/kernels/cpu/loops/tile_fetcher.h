// TileFetcher: brings keys or values into the second-level cache while others are multiplied, as several
// streams side by side (fetcher.h), or as one in shares, at the pace of loops that compute.
#pragma once

#include <cstdint>

#include "kernels/cpu/loops/fetcher.h"

namespace inferno::kernels {
namespace {

// One stream of hints, so many bytes further at each step of a loop that computes.
class PacedFetcher {
 public:
  PacedFetcher(const void* at, int64_t pace) : at_(static_cast<const uint8_t*>(at)), pace_(pace) {}
  [[gnu::always_inline]] void step() {
    __builtin_prefetch(at_, 0, 2);
    at_ += pace_;
  }

 private:
  const uint8_t* at_;
  int64_t pace_;
};

class TileFetcher {
 public:
  // Up to kMostPieces pieces in all: more is left to the processor to foresee.
  void add(const void* at, int64_t bytes) {
    const auto* first = static_cast<const uint8_t*>(at);
    for (int64_t piece = 0; piece < bytes && n_pieces_ < kMostPieces; piece += kPieceLines * kLine)
      pieces_[n_pieces_++] = first + piece;
  }
  // From here on all of it in n_steps steps, in so many streams.
  void begin(int64_t n_steps, int64_t n_streams) {
    stream_ = (n_pieces_ + n_streams - 1) / n_streams;
    end_ = stream_ * kPieceLines * kParts;
    pace_ = (end_ + n_steps - 1) / n_steps;
  }
  // Or, without begin(), a share of it for a loop of n_steps of all_steps, a line at each step at most. Where
  // a share goes beyond a piece, the next one is taken to lie there.
  PacedFetcher next_share(int64_t all_steps, int64_t n_steps) {
    const int64_t n_lines = n_pieces_ * kPieceLines;
    if (done_ >= n_lines) return {this, 0};  // hints for a line that is in the cache
    const int64_t share = (n_lines * n_steps + all_steps - 1) / all_steps;
    const uint8_t* at = pieces_[done_ / kPieceLines] + done_ % kPieceLines * kLine;
    done_ += share;
    return {at, (share * kLine + n_steps - 1) / n_steps};
  }
  [[gnu::always_inline]] void step() {
    due_ = due_ + pace_ < end_ ? due_ + pace_ : end_;
    for (; done_ * kParts < due_; ++done_) {
      for (int64_t piece = done_ / kPieceLines; piece < n_pieces_; piece += stream_)
        __builtin_prefetch(pieces_[piece] + done_ % kPieceLines * kLine, 0, 2);
    }
  }

 private:
  static constexpr int64_t kLine = 64;
  static constexpr int64_t kPieceLines = 32;
  static constexpr int64_t kMostPieces = 256;
  static constexpr int64_t kParts = 256;  // of a line: a step's share of one

  const uint8_t* pieces_[kMostPieces];
  int64_t n_pieces_ = 0;
  int64_t stream_ = 0;  // pieces of each
  int64_t end_ = 0;     // of each stream, in parts of lines, as are
  int64_t pace_ = 0;
  int64_t due_ = 0;
  int64_t done_ = 0;  // lines of each stream
};

// Where nothing is fetched.
struct NoTileFetcher {
  void step() {}
};

}  // namespace
}  // namespace inferno::kernels
